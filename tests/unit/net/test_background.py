"""Work in the background: it does not wait for each other, not too much is under way, and it ends with its keeper."""

import asyncio

from kproxy.net.background import MOST_AT_ONCE, BackgroundTasks
from kproxy.net.tasks import TaskKeeper


class Work:
    """Work that waits until it may end."""

    def __init__(self) -> None:
        self.begun = self.ended = self.torn_away = 0
        self.may_end = asyncio.Event()

    async def do(self) -> None:
        """Wait."""
        self.begun += 1
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.torn_away += 1
            raise
        self.ended += 1


async def turns(count: int) -> None:
    """Let the loop have `count` turns."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_pieces_of_work_do_not_wait_for_each_other() -> None:
    # Given
    work, background = Work(), BackgroundTasks(TaskKeeper())

    # When
    for number in range(3):
        background.begin(work.do, name=f"work {number}")
    await turns(5)
    begun = work.begun
    work.may_end.set()
    await turns(5)

    # Then
    assert (begun, work.ended) == (3, 3)


async def test_no_more_than_so_many_are_under_way() -> None:
    # Given
    work, background = Work(), BackgroundTasks(TaskKeeper())

    # When
    for number in range(MOST_AT_ONCE + 5):
        background.begin(work.do, name=f"work {number}")
    await turns(5)
    begun = work.begun
    work.may_end.set()
    await turns(10)

    # Then
    assert (begun, work.ended) == (MOST_AT_ONCE, MOST_AT_ONCE + 5)


async def test_what_others_wait_for_begins_beside_work_that_hangs() -> None:
    # Given
    hanging, urgent, keeper = Work(), Work(), TaskKeeper()
    background = BackgroundTasks(keeper)
    for number in range(MOST_AT_ONCE):
        background.begin(hanging.do, name=f"work {number}")
    await turns(5)

    # When
    background.begin_now(urgent.do, name="urgent work")
    await turns(5)

    # Then
    assert (urgent.begun, hanging.ended) == (1, 0)
    await keeper.close()


async def test_work_ends_with_its_keeper() -> None:
    # Given
    work, keeper = Work(), TaskKeeper()
    BackgroundTasks(keeper).begin(work.do, name="work")
    await turns(5)

    # When
    await keeper.close()

    # Then
    assert (work.ended, work.torn_away) == (0, 1)
