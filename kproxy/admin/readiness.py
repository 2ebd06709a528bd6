"""Whether kproxy should get traffic: a list of named checks, each of which says what is wrong."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

ReadinessCheck = Callable[[], str]
"""Returns what is wrong in one sentence, and nothing (the empty string) when all is well. Never waits."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check at one moment. `detail` says what is wrong and is empty when the check passed."""

    check: str
    detail: str

    @property
    def is_passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.detail


class Readiness:
    """The checks of `/readyz` by name, in the order in which they are shown. No check means ready.

    `more` are asked after them for checks whose number is not known beforehand: one for each slot, say.
    """

    __slots__ = ("_checks", "_more")

    def __init__(
        self,
        checks: Mapping[str, ReadinessCheck],
        *,
        more: Callable[[], Sequence[CheckResult]] = tuple,
    ) -> None:
        self._checks = dict(checks)
        self._more = more

    def results(self) -> list[CheckResult]:
        """Run every check, so that all that is wrong is seen at once."""
        return [*self.named_results(), *self._more()]

    def named_results(self) -> list[CheckResult]:
        """Run the checks that have a name, which leaves out `more`."""
        return [CheckResult(name, check()) for name, check in self._checks.items()]
