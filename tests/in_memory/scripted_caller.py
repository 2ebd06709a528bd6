"""A client of which a test says whether it still waits."""

from dataclasses import dataclass


@dataclass(slots=True)
class ScriptedCaller:
    """A `Caller` of whom the test says what it does."""

    is_gone: bool = False
    has_more: bool = False
