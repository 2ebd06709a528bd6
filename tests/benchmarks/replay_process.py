"""The process of a `ReplayingSpark`: a Spark session that is up, and runs one `kproxy replay` after the other.

It answers with the version of Spark once the session is there. Then each line of standard input is the arguments of
`kproxy replay`, in JSON; the answer is a `Replayed`, whose time is that of the whole command, start-up apart. It runs
on every Spark that the jobs run on, so it needs no package that they do not.
"""

import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import redirect_stderr
from io import StringIO

from kproxy.jobs.command_line import jobs
from kproxy.jobs.spark_session import spark_session
from tests.benchmarks.replay_job import Replayed


def main() -> None:
    """Answer standard input until its end."""
    # Whatever Java or a worker prints is none of the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with spark_session("benchmark") as spark:
        print(spark.version, file=answers, flush=True)
        for line in sys.stdin:
            # Or the folds of the run before would be found again.
            spark.catalog.clearCache()
            print(json.dumps(_replayed(json.loads(line)).as_json()), file=answers, flush=True)


def _replayed(arguments: Sequence[str]) -> Replayed:
    said = StringIO()
    began_s = time.monotonic()
    with redirect_stderr(said):
        exit_status = _exit_status(arguments)
    return Replayed(exit_status, time.monotonic() - began_s, said.getvalue())


def _exit_status(arguments: Sequence[str]) -> int:
    try:
        jobs.main(list(arguments), prog_name="kproxy replay")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0


if __name__ == "__main__":
    main()
