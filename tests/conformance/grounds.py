"""On what a case is played."""

from enum import Enum
from typing import Final

MOST_SESSIONS: Final = 6
"""Share sessions that may be open at once where targets are restarted."""


class Ground(Enum):
    """The targets of a case: those that all share, or others."""

    SHARED = "shared"
    RESTARTED = "restarted"
    """Restarted under the cases, and with few share sessions."""
    TWO_BROKERS = "two brokers"
    DISABLED = "disabled"
    """Share groups are switched off."""
