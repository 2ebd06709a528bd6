"""On what a case is played."""

from enum import Enum


class Ground(Enum):
    """The targets of a case: those that all share, or others."""

    SHARED = "shared"
    RESTARTED = "restarted"
    """Restarted under the cases, and with few share sessions."""
    DISABLED = "disabled"
    """Share groups are switched off."""
