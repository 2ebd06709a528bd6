"""Every chosen case at every target, side by side: most of a case is waiting."""

import inspect
import itertools
import string
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from time import perf_counter
from types import TracebackType
from typing import Final, Self

from tests.conformance.case import Case
from tests.conformance.grounds import Ground
from tests.conformance.scenario import Noted, Play, TooSlow
from tests.conformance.target import Target

SIDE_BY_SIDE: Final = 12
BY_CHANCE_SIDE_BY_SIDE: Final = 72
FIRST_BY_CHANCE: Final = 1_000
"""The numbers of what is no case of a list."""
PATIENCE_SECONDS: Final = 240.0
MOST_PLAYS: Final = 6
"""Of one scenario, when the machine was too slow for it."""
ALL_PLAYS_SECONDS: Final = 600.0
"""For all of these together: less than a test has."""


@dataclass(frozen=True, slots=True)
class Playing:
    """What came of one case at one target."""

    target: str
    notes: list[Noted]
    failure: str = ""
    """The stack of what the case did not find as it says; empty when all of it was so."""
    seconds: float = 0.0
    was_too_slow: bool = False


@dataclass(slots=True, repr=False)
class Stage:
    """Plays cases in threads; `outcome` waits for one."""

    targets: Mapping[Ground, Mapping[str, Target]]
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(SIDE_BY_SIDE))
    _pool_by_chance: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(BY_CHANCE_SIDE_BY_SIDE)
    )
    _playing: dict[tuple[int, str], Future[Playing]] = field(default_factory=dict)
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(FIRST_BY_CHANCE))
    _played_in_turn: dict[str, Future[dict[int, Playing]]] = field(default_factory=dict)

    def begin(self, cases: Collection[Case]) -> None:
        """Begin to play them, in order; those with restarts first."""
        in_turn = [case for case in cases if case.ground is Ground.RESTARTED]
        for letter, target in _lettered(self.targets.get(Ground.RESTARTED, {})):
            played = self._pool.submit(_play_in_turn, in_turn, target, letter)
            self._played_in_turn[target.name] = played
        for case in cases:
            if case.ground is not Ground.RESTARTED:
                for letter, target in _lettered(self.targets[case.ground]):
                    playing = self._pool.submit(_play, case, target, letter)
                    self._playing[case.number, target.name] = playing

    def outcome(self, case: Case, target: str) -> Playing:
        """What came of a case that was begun."""
        if case.ground is Ground.RESTARTED:
            return self._played_in_turn[target].result(PATIENCE_SECONDS)[case.number]
        return self._playing[case.number, target].result(PATIENCE_SECONDS)

    def play_at_once(self, scenarios: Sequence[Callable[[Play], None]]) -> list[list[Playing]]:
        """Play something else at every target that is shared; what came of each, by target. Raises TimeoutError."""
        deadline = time.monotonic() + ALL_PLAYS_SECONDS
        played = self._played_at_once(scenarios, deadline)
        for _ in range(MOST_PLAYS - 1):
            again = [
                number for number, of_one in enumerate(played) if any(each.was_too_slow for each in of_one)
            ]
            played_again = self._played_at_once([scenarios[number] for number in again], deadline)
            for number, of_one in zip(again, played_again, strict=True):
                played[number] = of_one
        return played

    def _played_at_once(
        self, scenarios: Iterable[Callable[[Play], None]], deadline: float
    ) -> list[list[Playing]]:
        playing = [
            [
                self._pool_by_chance.submit(_play, case, target, letter)
                for letter, target in _lettered(self.targets[Ground.SHARED])
            ]
            for case in [Case(next(self._numbers), scenario) for scenario in scenarios]
        ]
        return [[each.result(max(deadline - time.monotonic(), 0)) for each in of_one] for of_one in playing]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_class: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for pool in (self._pool, self._pool_by_chance):
            pool.shutdown(cancel_futures=True)


def _lettered(targets: Mapping[str, Target]) -> Iterable[tuple[str, Target]]:
    """Each target with a letter, by which names on one cluster differ."""
    return zip(string.ascii_lowercase, targets.values(), strict=False)


def _play(case: Case, target: Target, letter: str) -> Playing:
    return _Scene(case, target, letter).play_on()


def _play_in_turn(cases: Sequence[Case], target: Target, letter: str) -> dict[int, Playing]:
    """Play cases up to their restarts, restart the target once for all of them, and play them to their ends."""
    scenes = [_Scene(case, target, letter) for case in cases]
    interrupted = [scene for scene in scenes if scene.is_interrupted]
    outcomes = {scene.case.number: scene.play_on() for scene in interrupted}
    if interrupted:
        target.restart()
    outcomes |= {scene.case.number: scene.play_on() for scene in interrupted if not scene.is_over}
    return outcomes | {scene.case.number: scene.play_on() for scene in scenes if not scene.is_interrupted}


class _Scene:
    """One case at one target, which a restart may interrupt."""

    def __init__(self, case: Case, target: Target, letter: str) -> None:
        self.case = case
        self.is_interrupted = inspect.isgeneratorfunction(case.scenario)
        self.is_over = False
        self._target, self._label = target, f"case-{case.number:02}{letter}"
        self._play: Play | None = None
        self._rest: Iterator[None] | None = None

    def play_on(self) -> Playing:
        """Play up to the next restart, or the end; what came of it so far."""
        began = perf_counter()
        failure, was_too_slow = "", False
        try:
            self._go_on()
        except TooSlow as problem:
            failure, was_too_slow = str(problem), True
            self._end()
        except Exception:  # noqa: BLE001 - told to whoever asks for the outcome
            failure = traceback.format_exc() + "".join(f"{note}\n" for note in self._notes)
            self._end()
        return Playing(self._target.name, self._notes, failure, perf_counter() - began, was_too_slow)

    @property
    def _notes(self) -> list[Noted]:
        return [] if self._play is None else self._play.notes

    def _go_on(self) -> None:
        if self._play is None:
            self._play = Play(self._target, self._label)
            self._rest = self.case.scenario(self._play)
        else:
            self._play.connect_again()
        if self._rest is None or next(self._rest, self) is self:
            self._end()

    def _end(self) -> None:
        self.is_over = True
        if self._play is not None:
            self._play.close()
