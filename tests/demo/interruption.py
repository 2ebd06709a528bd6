"""Ctrl-C and its like, as an exception that lets everything stop in order."""

import signal
from types import FrameType
from typing import Final, NoReturn

STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SIGNAL_STATUS: Final = 128


class Interrupted(BaseException):
    """A signal asked to end. Raised in the main thread; nothing but `__main__` and the end of KEEP=1 takes it."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal.Signals(signal_number).name)
        self.exit_status = SIGNAL_STATUS + signal_number
        """What a shell shows of a process that this signal ended."""


def raise_on_stop_signals() -> None:
    """Let the first SIGINT, SIGTERM or SIGHUP raise `Interrupted`."""
    for stop_signal in STOP_SIGNALS:
        signal.signal(stop_signal, _interrupt)


def _interrupt(signal_number: int, _frame: FrameType | None) -> NoReturn:
    # Stopping takes seconds and is bounded; a second Ctrl-C must not stop the stopping.
    for stop_signal in STOP_SIGNALS:
        signal.signal(stop_signal, signal.SIG_IGN)
    raise Interrupted(signal_number)
