"""What a run says beside its result: lines on standard error, and facts for the closing summary."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kproxy.jobs.sources.log_reader import Gap


class RunReport:
    """The account of one run. A run with `gaps` ends with the exit code of a partial failure."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        """Prints a line for people, on standard error."""
        self.gaps: list[Gap] = []
        self.summary: dict[str, object] = {}
        """What was learned on the way: it joins the closing summary, before what the job says."""

    def missing(self, gaps: "Sequence[Gap]") -> None:
        """Report records that are gone: at once on standard error, and in the closing summary."""
        for gap in gaps:
            self.say(f"Warning: partition {gap.partition}: {gap.offsets_text}")
        self.gaps += gaps
