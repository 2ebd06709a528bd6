"""Turns: only so many at once, those that are wanted first, and none is lost."""

import asyncio
from collections.abc import Callable

from kproxy.net.state_log.load_turns import LoadTurns


class Loads:
    """Slots that ask for turns, and keep them until they are told to end."""

    def __init__(self, turns: LoadTurns) -> None:
        self.begun: list[str] = []
        self.wanted: set[str] = set()
        self._turns = turns
        self._ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def ask(self, *names: str) -> None:
        for name in names:
            self._ends[name] = asyncio.Event()
            self.tasks[name] = asyncio.get_running_loop().create_task(self._load(name, self._wants(name)))
            await asyncio.sleep(0)

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await self.tasks[name]
        await asyncio.sleep(0)

    def _wants(self, name: str) -> Callable[[], bool]:
        return lambda: name in self.wanted

    async def _load(self, name: str, is_wanted: Callable[[], bool]) -> None:
        async with self._turns.turn(is_wanted):
            self.begun.append(name)
            await self._ends[name].wait()


async def test_only_so_many_have_turns_at_once_and_the_others_follow_in_order() -> None:
    # Given
    loads = Loads(LoadTurns(2))
    await loads.ask("a", "b", "c", "d")
    begun_at_once = list(loads.begun)

    # When
    for name in "abcd":
        await loads.end(name)

    # Then
    assert begun_at_once == ["a", "b"]
    assert loads.begun == ["a", "b", "c", "d"]


async def test_who_is_wanted_when_a_turn_is_free_goes_first() -> None:
    # Given
    loads = Loads(LoadTurns(1))
    await loads.ask("a", "b", "c", "d")
    loads.wanted = {"c"}

    # When
    await loads.end("a")

    # Then
    assert loads.begun == ["a", "c"]
    for name in "cbd":
        await loads.end(name)
    assert loads.begun == ["a", "c", "b", "d"]


async def test_who_is_cancelled_takes_no_turn_along() -> None:
    # Given
    loads = Loads(LoadTurns(1))
    await loads.ask("a", "waiting", "given", "last")
    loads.wanted = {"given"}

    # When
    loads.tasks["waiting"].cancel()
    loads._ends["a"].set()
    await loads.tasks["a"]
    loads.tasks["given"].cancel()
    await asyncio.wait([loads.tasks["waiting"], loads.tasks["given"]])
    await asyncio.sleep(0)

    # Then
    assert loads.begun[-1] == "last"
    await loads.end("last")
    await loads.ask("another")
    assert loads.begun[-1] == "another"
    await loads.end("another")
