"""Every chosen case at every target, side by side: most of a case is waiting."""

import string
import traceback
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from time import perf_counter
from types import TracebackType
from typing import Final, Self

from tests.conformance.case import Case
from tests.conformance.grounds import Ground
from tests.conformance.scenario import Noted, Play
from tests.conformance.target import Target

SIDE_BY_SIDE: Final = 12
PATIENCE_SECONDS: Final = 240.0


@dataclass(frozen=True, slots=True)
class Playing:
    """What came of one case at one target."""

    target: str
    notes: list[Noted]
    failure: str = ""
    """The stack of what the case did not find as it says; empty when all of it was so."""
    seconds: float = 0.0


@dataclass(slots=True)
class Stage:
    """Plays cases in threads; `outcome` waits for one."""

    targets: Mapping[Ground, Mapping[str, Target]]
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(SIDE_BY_SIDE))
    _playing: dict[tuple[int, str], Future[Playing]] = field(default_factory=dict)

    def begin(self, cases: Iterable[Case]) -> None:
        """Begin to play them, in order."""
        for case in cases:
            for number, target in enumerate(self.targets[case.ground].values()):
                label = f"case-{case.number:02}{string.ascii_lowercase[number]}"
                self._playing[case.number, target.name] = self._pool.submit(_play, case, target, label)

    def outcome(self, case: Case, target: str) -> Playing:
        """What came of a case that was begun."""
        return self._playing[case.number, target].result(PATIENCE_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_class: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._pool.shutdown(cancel_futures=True)


def _play(case: Case, target: Target, label: str) -> Playing:
    began = perf_counter()
    play = Play(target, label)
    failure = ""
    try:
        case.scenario(play)
    except Exception:  # noqa: BLE001 - told to whoever asks for the outcome
        answers = "\n".join(f"{note.asked}: {note.answer}" for note in play.notes)
        failure = f"{traceback.format_exc()}{answers}\n"
    finally:
        play.close()
    return Playing(target.name, play.notes, failure, perf_counter() - began)
