"""What goes through all groups of a process lets others have turns in between."""

from kproxy.handlers.live.pauses import MOST_AT_ONCE
from kproxy.share.heartbeat import Heartbeat
from kproxy.share.identifiers import GroupId, MemberId
from kproxy.share.limits import GroupLimits
from tests.worlds.share_group_world import ShareGroupWorld
from tests.worlds.waiting import turns_during


async def test_very_many_groups_are_looked_at_for_topics_that_are_gone_in_several_turns() -> None:
    # Given
    world = ShareGroupWorld()
    for number in range(2 * MOST_AT_ONCE):
        join = Heartbeat(GroupId(f"g{number}"), MemberId("m"), 0, None, ("orders",), "client", "/127.0.0.1")
        world.groups.coordinator.admit(join, topics={}, limits=GroupLimits(), now_ms=0)

    # When
    turn_count = await turns_during(world.groups.tend_topics())

    # Then
    assert turn_count >= 3 * 2, "they are gone through three times"
