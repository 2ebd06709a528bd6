"""What a process that replays logs answers."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Replayed:
    """How one `kproxy replay` ended, and how long it took."""

    exit_status: int
    seconds: float
    said: str
    """On its standard error. The last line is the closing summary if it did not fail."""

    def as_json(self) -> dict[str, Any]:
        """The same, ready for a line of JSON."""
        return asdict(self)
