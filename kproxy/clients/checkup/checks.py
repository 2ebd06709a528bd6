"""`Check`: what was looked at, how it is, and what to do."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How something is. A warning does not keep kproxy from serving; what was skipped could not be looked at."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. `remedy` is what to do, empty when it is in order."""

    subject: str
    name: str
    outcome: Outcome
    detail: str
    remedy: str = ""


class Subject:
    """Makes checks about one address or one thing, by its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def ok(self, name: str, detail: str) -> Check:
        """Return that it is in order."""
        return Check(self.name, name, Outcome.OK, detail)

    def warning(self, name: str, detail: str, remedy: str) -> Check:
        """Return that somebody should know of it."""
        return Check(self.name, name, Outcome.WARNING, detail, remedy)

    def failed(self, name: str, detail: str, remedy: str) -> Check:
        """Return that kproxy cannot serve with it."""
        return Check(self.name, name, Outcome.FAILED, detail, remedy)

    def skipped(self, name: str, why: str) -> Check:
        """Return that it could not be looked at."""
        return Check(self.name, name, Outcome.SKIPPED, why)
