"""Share groups whose process dies at a write of the test's choice, which landed or did not."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

from kproxy.errors import ApiError
from kproxy.share.heartbeat import PartitionInitialization
from kproxy.share.identifiers import GroupId, SharePartitionKey
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.statelog.actors import Actor
from kproxy.statelog.group_queue import GroupOperation
from tests.in_memory.breakable_group_log import BreakableGroupLog
from tests.in_memory.breakable_state_log import BreakableStateLog
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld

GROUP = GroupId("g")
MOST_WRITES = 4
"""More than any operation here makes."""


class Crash(BaseException):
    """The process is gone."""


class Fate:
    """Lets the process die at its n-th write from now on, before or after the write has landed."""

    def __init__(self) -> None:
        self.writes_left = 1_000_000
        self.does_land = False

    def die_at(self, write: int, *, does_land: bool) -> None:
        self.writes_left, self.does_land = write, does_land

    async def write(
        self, operation: Callable[[], Awaitable[Mapping[SharePartitionKey, ApiError] | None]]
    ) -> None:
        self.writes_left -= 1
        if self.writes_left or self.does_land:
            assert not await operation()
        if not self.writes_left:
            raise Crash


class MortalGroupLog(BreakableGroupLog):
    """Writes as fate has it."""

    def __init__(self, fate: Fate) -> None:
        super().__init__()
        self.fate = fate

    async def _write(
        self, operation: GroupOperation, failure: ApiError | None, held: asyncio.Event | None
    ) -> None:
        async def write() -> None:
            await super(MortalGroupLog, self)._write(operation, failure, held)

        await self.fate.write(write)


class MortalStateLog(BreakableStateLog):
    """Writes as fate has it."""

    def __init__(self, fate: Fate) -> None:
        super().__init__()
        self.fate = fate

    async def initialize(
        self, wanted: Iterable[PartitionInitialization], require_wanted: Callable[[], None] = lambda: None
    ) -> Mapping[SharePartitionKey, ApiError]:
        await self.fate.write(lambda: super(MortalStateLog, self).initialize(wanted, require_wanted))
        return {}

    async def move(
        self, moves: Sequence[PartitionInitialization], actor: Actor
    ) -> Mapping[SharePartitionKey, ApiError]:
        await self.fate.write(lambda: super(MortalStateLog, self).move(moves, actor))
        return {}

    async def delete(self, keys: Collection[SharePartitionKey]) -> Mapping[SharePartitionKey, ApiError]:
        await self.fate.write(lambda: super(MortalStateLog, self).delete(keys))
        return {}


class MortalWorld(ShareGroupWorld):
    """A world whose process dies when fate says so."""

    def __init__(self) -> None:
        super().__init__()
        self.fate = Fate()
        self.state_log, self.group_log = MortalStateLog(self.fate), MortalGroupLog(self.fate)
        self.metadata.create_topic("orders", ORDERS, partition_count=2)
        self.groups = self.new_process()

    async def until_death(self, operation: Awaitable[object]) -> bool:
        """Return whether the process died of it; then it was started again."""
        try:
            await operation
        except Crash:
            self.fate.writes_left = 1_000_000
            self.restart()
            return True
        self.fate.writes_left = 1_000_000
        return False

    def image(self) -> ShareGroupImage | None:
        return self.group_log.replayed().durable_images().get(GROUP)

    def partitions_with_state(self) -> set[int]:
        return {key.partition for key in self.state_log.memory.fold.states}
