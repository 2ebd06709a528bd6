"""Whether kproxy should get traffic: a list of named checks, each of which says what is wrong."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_MOST_TOLD: Final = 3
"""Of a group, how many of those that do not pass are told in its line."""

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

    `more` are asked after them for checks whose number is not known beforehand: one for each slot, say. They are one
    line, named `group`, for those who do not want to know more.
    """

    __slots__ = ("_checks", "_group", "_more")

    def __init__(
        self,
        checks: Mapping[str, ReadinessCheck],
        *,
        more: Callable[[], Sequence[CheckResult]] = tuple,
        group: str = "more",
    ) -> None:
        self._checks = dict(checks)
        self._more = more
        self._group = group

    def results(self) -> list[CheckResult]:
        """Run every check, so that all that is wrong is seen at once."""
        return [*self.named_results(), *self._more()]

    def lines(self, *, is_verbose: bool = False) -> list[CheckResult]:
        """Run every check, as `results` does; unless `is_verbose`, `more` are one result, if there are any."""
        if is_verbose:
            return self.results()
        more = self._more()
        grouped = [CheckResult(self._group, _detail_of_all(more))] if more else []
        return [*self.named_results(), *grouped]

    def named_results(self) -> list[CheckResult]:
        """Run the checks that have a name, which leaves out `more`."""
        return [CheckResult(name, check()) for name, check in self._checks.items()]


def _detail_of_all(results: Sequence[CheckResult]) -> str:
    failed = [result for result in results if not result.is_passed]
    if not failed:
        return ""
    told = "; ".join(f"{result.check}: {result.detail}" for result in failed[:_MOST_TOLD])
    left_out = len(failed) - _MOST_TOLD
    more = f"; and {left_out} more, which /readyz?verbose tells" if left_out > 0 else ""
    return f"{len(failed)} of {len(results)} do not pass: {told}{more}"
