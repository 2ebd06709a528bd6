"""How many log records `state-at --no-index` folds in a second over files: `python -m tests.benchmarks.replay`.

It times the job itself, start-up excluded: a first run warms Spark up. Give several lengths, or several numbers of
share-partitions, to see whether time grows in a straight line.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import click

from kproxy.jobs.job import JobContext
from kproxy.jobs.source_options import open_files
from kproxy.jobs.spark_session import spark_session
from kproxy.jobs.state_at import run
from tests.spark.log_generator import write_partition

LOG_PARTITIONS: Final = 8


def write_log(folder: Path, records: int, share_partitions: int) -> None:
    """Write a log of so many records, in equal partitions."""
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - before Spark, and never in its workers

    each = (records // LOG_PARTITIONS, max(1, share_partitions // LOG_PARTITIONS))
    with ProcessPoolExecutor() as processes:
        for written in [processes.submit(write_partition, folder, n, *each) for n in range(LOG_PARTITIONS)]:
            written.result()


def seconds_of_state_at(spark: Any, folder: Path) -> float:
    """Return how long the job takes from opening the files to the last row of the result."""
    spark.catalog.clearCache()  # or the folds of the run before would be found again
    began_s = time.monotonic()
    context = JobContext(spark, open_files(spark, str(folder), "groups"), _silent)
    result = run(context, at=None, at_offset=(), group=None, index=None, no_index=True, on_corrupt="stop")
    sum(1 for _ in result.frame.toLocalIterator())
    return time.monotonic() - began_s


def _silent(_text: str) -> None:
    """Say nothing."""


def measured(
    folder: Path, cases: Sequence[tuple[int, int]], show: Callable[[dict[str, object]], None]
) -> None:
    """Measure each case, of so many records and share-partitions."""
    folders = {case: folder / f"{case[0]}-{case[1]}" for case in cases}
    for (records, share_partitions), place in folders.items():
        write_log(place, records, share_partitions)
    with spark_session("benchmark", is_watched=False) as spark:
        seconds_of_state_at(spark, folders[cases[0]])
        for (records, share_partitions), place in folders.items():
            seconds = min(seconds_of_state_at(spark, place) for _ in range(2))
            show(
                {
                    "records": records,
                    "sharePartitions": share_partitions,
                    "seconds": round(seconds, 2),
                    "recordsPerSecond": round(records / seconds),
                    "cores": os.cpu_count(),
                }
            )


@click.command()
@click.option(
    "--records", multiple=True, type=click.IntRange(min=1000), default=(100_000, 1_000_000, 2_000_000)
)
@click.option("--share-partitions", multiple=True, type=click.IntRange(min=8), default=(80,))
def main(records: Sequence[int], share_partitions: Sequence[int]) -> None:
    """Print a line of JSON for each number of records and of share-partitions."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    cases = [(length, width) for length in records for width in share_partitions]
    with TemporaryDirectory() as folder:
        measured(Path(folder), cases, lambda line: click.echo(json.dumps(line)))


if __name__ == "__main__":
    main()
