"""What ends a job early, on the driver or on an executor."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kproxy.errors import CorruptStateRecord, ExitCode, KproxyError

_MARK: Final = "\N{SECTION SIGN}"
_PARTS: Final = 4


class JobFailed(KproxyError):
    """A job that cannot do what it was asked. The text is one line that says what, and what to do about it.

    Raised by jobs and readers; `kproxy.jobs.command_line` prints it and exits with `exit_code`.
    """

    def __init__(self, message: str, exit_code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class _TaskFailed(Exception):
    """A failure on an executor. Spark carries the text of an exception to the driver, and nothing else of it."""


@contextmanager
def told_to_driver() -> Iterator[None]:
    """On an executor: raise the failures of kproxy in a form that `failure_of_spark` knows again on the driver."""
    try:
        yield
    except KproxyError as failure:
        exit_code = failure.exit_code if isinstance(failure, JobFailed) else ExitCode.FAILED
        advice = "; --on-corrupt skip passes over it" if isinstance(failure, CorruptStateRecord) else ""
        raise _TaskFailed(f"{_MARK}{exit_code.value}{_MARK}{failure}{advice}{_MARK}") from failure


def failure_of_spark(text: str) -> JobFailed:
    """Return what Spark's text about a failed query says: the words of the task, or the last cause in one line."""
    told = text.split(_MARK)
    if len(told) >= _PARTS:
        return JobFailed(told[2], ExitCode(int(told[1])))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    return JobFailed(f"Spark failed: {(causes[-1:] or lines[:1] or ['it gave no reason'])[0]}")
