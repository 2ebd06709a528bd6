"""What ends a job early, on the driver or on an executor."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kproxy.clients.failures import ClientFailed
from kproxy.errors import CorruptStateRecord, ExitCode, KproxyError, UnsupportedStateRecord

_MARK: Final = "\N{SECTION SIGN}"
_PARTS: Final = 4
_OF_A_CALL: Final = ": "
"""The beginning of the reason in py4j's text."""
_RAISED: Final = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)+(\S.*)$", re.MULTILINE)
"""The exception of a Python worker, behind its stack trace."""


class JobFailed(KproxyError):
    """A job that cannot do what it was asked. The text is one line that says what, and what to do about it.

    Raised by jobs and readers; `kproxy.jobs.command_line` prints it and exits with `exit_code`.
    """

    def __init__(self, message: str, exit_code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@contextmanager
def as_job_failures() -> Iterator[None]:
    """Within the block, raise as JobFailed what a client of clusters and of kproxies says went wrong."""
    try:
        yield
    except ClientFailed as failure:
        raise JobFailed(str(failure), failure.exit_code) from failure


class _TaskFailed(Exception):
    """A failure on an executor. Spark carries the text of an exception to the driver, and nothing else of it."""


@contextmanager
def told_to_driver(*, can_skip: bool = False) -> Iterator[None]:
    """On an executor: raise the failures of kproxy in a form that `failure_of_spark` reads on the driver.

    With `can_skip` the failure of a corrupt record names the option that skips it.
    """
    try:
        yield
    except KproxyError as failure:
        exit_code = failure.exit_code if isinstance(failure, JobFailed) else ExitCode.FAILED
        advice = "; --on-corrupt skip passes over it" if can_skip and _is_skippable(failure) else ""
        raise _TaskFailed(f"{_MARK}{exit_code.value}{_MARK}{failure}{advice}{_MARK}") from failure


def _is_skippable(failure: KproxyError) -> bool:
    """Return whether `--on-corrupt skip` skips the record; every fold stops at one of a newer format."""
    return isinstance(failure, CorruptStateRecord) and not isinstance(failure, UnsupportedStateRecord)


def failure_of_spark(text: str) -> JobFailed:
    """Return what Spark's text about a failed query says: the words of the task, or the last cause in one line."""
    marked = text.split(_MARK)
    if len(marked) >= _PARTS:
        return JobFailed(marked[2], ExitCode(int(marked[1])))
    raised = _RAISED.findall(text)
    if raised:
        return JobFailed(f"Spark failed: {raised[-1]}")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # The first line of a failed call into the JVM names the call; the next one has the reason.
    causes = [
        line.removeprefix(_OF_A_CALL)
        for line in lines
        if line.startswith((_OF_A_CALL, "Caused by: ", "py4j."))
    ]
    return JobFailed(f"Spark failed: {(causes[-1:] or lines[:1] or ['it gave no reason'])[0]}")
