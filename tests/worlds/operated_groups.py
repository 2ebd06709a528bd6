"""Share groups at work behind an admin port, for what operators do to them."""

from kproxy.share.identifiers import MemberId
from tests.in_memory.inspectable import Inspectable
from tests.worlds.share_group_world import ORDERS, Member, ShareGroupWorld


class OperatedGroups:
    """Alice, in the group g, holds the five records of partition 0 of orders; Bob has a share session."""

    def __init__(self) -> None:
        self.world = ShareGroupWorld()
        self.inspectable = operated(self.world)
        self.alice_id = MemberId("alice")
        self.alice: Member = self.world.member("alice")
        self.bob: Member = self.world.member("bob")

    async def begin(self) -> "OperatedGroups":
        await self.world.initialize()
        self.world.produce(5)
        await self.alice.open(max_records=5)
        await self.bob.open()
        return self


def operated(world: ShareGroupWorld) -> Inspectable:
    """Return the admin port of a world."""
    inspectable = Inspectable()
    groups = world.groups
    inspectable.coordinator, inspectable.sessions = groups.coordinator, groups.sessions
    inspectable.live, inspectable.operators = groups.directory, groups.operators
    inspectable.topic_names = {ORDERS: "orders"}
    inspectable.clock = world.clock
    return inspectable
