"""The analyst, a process of its own: starts Spark once, then runs each `kproxy replay` command that it is told of.

Its argument is when it was started, in seconds of the monotonic clock. A line of its standard input is the arguments
of a command, a JSON list. A line of its standard output is a JSON object: the first one says what it started
(`Started`), each other one what a command came to (`Answer`). It leaves when its standard input ends. Whatever Spark
has to say goes to standard error.
"""

import io
import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict
from typing import IO

from kproxy.jobs import command_line
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.spark_session import spark_session
from tests.demo.answers import Answer, Started


def main() -> None:
    """Answer until there are no more questions."""
    began_at = float(sys.argv[1])
    told = _own_standard_output()
    try:
        with spark_session("replay") as spark:
            _tell(told, Started(spark.version, time.monotonic() - began_at))
            for line in sys.stdin:
                _tell(told, run(json.loads(line)))
    except JobFailed as failure:
        sys.exit(str(failure))


def run(arguments: Sequence[str]) -> Answer:
    """Run `kproxy replay ARGUMENT…` in this process, with the Spark that is there."""
    output, errors, exit_status = io.StringIO(), io.StringIO(), 0
    with redirect_stdout(output), redirect_stderr(errors):
        try:
            command_line.main(arguments)
        except SystemExit as end:
            exit_status = end.code if isinstance(end.code, int) else 1
    return Answer(exit_status, output.getvalue(), errors.getvalue())


def _own_standard_output() -> IO[str]:
    """Keep the standard output to this process: what Spark's JVM writes to its own joins the errors."""
    told = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return told


def _tell(told: IO[str], what: Answer | Started) -> None:
    print(json.dumps(asdict(what)), file=told, flush=True)


if __name__ == "__main__":
    main()
