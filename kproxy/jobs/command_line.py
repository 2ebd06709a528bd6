"""The command line of the jobs: `kproxy replay`, `python -m kproxy.jobs`, and whatever `spark-submit` is given."""

import json
import logging
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final, NoReturn

import click

from kproxy.clients.tables import printable
from kproxy.errors import ExitCode, KproxyError
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.job import Job, JobContext, JobResult
from kproxy.jobs.progress import Progress
from kproxy.jobs.registry import JOBS

if TYPE_CHECKING:
    from kproxy.clients.log_ranges import LogRange
    from kproxy.jobs.result_writer import ResultWriter
    from kproxy.jobs.source_options import SourceOptions

_STATE_TOPIC: Final = "__kproxy_share_state"
_GROUPS_TOPIC: Final = "__kproxy_share_groups"
_FORMS: Final = ("table", "wide", "json", "csv", "parquet")
_RECORD_FORMS: Final = ("kafka", "kip-checkpoint", "kip-control")
_SOURCES: Final = ("auto", "jar", "python")
_EXIT_CODE_OF_SIGNALS: Final = 128
"""Shells add the number of the signal to this, for the exit code of a process that a signal ended."""


class JobGroup(click.Group):
    """The jobs as commands; each is imported when it is called."""

    def list_commands(self, _context: click.Context) -> list[str]:
        return list(JOBS)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        lazy = JOBS.get(name)
        return None if lazy is None else job_command(name, lazy.purpose, lazy.load())

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Jobs"):
            formatter.write_dl([(name, lazy.purpose) for name, lazy in JOBS.items()])


@click.group(
    cls=JobGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 cannot connect or not allowed, "
    "5 a check failed, 6 partial failure: records are missing, 130 or 143 stopped by a signal.",
)
def jobs() -> None:
    """Ask the history of every share group: Spark replays the state log."""


def job_command(name: str, purpose: str, job: Job) -> click.Command:
    """Return the command of a job: its own options, then those that every job has."""

    def callback(**values: object) -> None:
        common = {option.name: values.pop(option.name) for option in COMMON_OPTIONS if option.name}
        plot = values.pop("plot", None)
        assert plot is None or isinstance(plot, Path)
        _run(name, job, common, values, plot)

    plot = [_PLOT] if job.has_plot else []
    return click.Command(
        name,
        params=[*job.options, *plot, *COMMON_OPTIONS],
        callback=callback,
        help=purpose,
        epilog=job.epilog,
    )


_PLOT: Final = click.Option(
    ["--plot"], type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.png", help="Draw it as well."
)
COMMON_OPTIONS: Final = (
    click.Option(["-b", "--bootstrap-server"], metavar="HOST:PORT[,…]", help="The backing cluster."),
    click.Option(
        ["--files"],
        metavar="PATH",
        help="Files instead: Parquet of export, or JSON lines of kproxy log dump; a file or a folder. A dump of "
        "--topic groups beside the other names topics.",
    ),
    click.Option(
        ["--format", "form"],
        type=click.Choice(_RECORD_FORMS),
        default="kafka",
        show_default=True,
        help="The records of --files: Kafka's, or those of an earlier KIP-932, as JSON lines.",
    ),
    click.Option(["--state-topic"], default=_STATE_TOPIC, show_default=True, help="kproxy.state.topic.name."),
    click.Option(
        ["--groups-topic"], default=_GROUPS_TOPIC, show_default=True, help="kproxy.groups.topic.name."
    ),
    click.Option(
        ["-K", "--kafka-option"],
        multiple=True,
        metavar="KEY=VALUE",
        help="A property of Kafka's clients as Java's have it, such as security.protocol; may be given several times.",
    ),
    click.Option(
        ["--source"],
        type=click.Choice(_SOURCES),
        default="auto",
        show_default=True,
        help="How Kafka is read: by Spark's own source, whose jar must be there, or by kproxy's in Python.",
    ),
    click.Option(
        ["-o", "--output"],
        type=click.Choice(_FORMS),
        default="table",
        show_default=True,
        help="Format; wide is a table with all columns.",
    ),
    click.Option(
        ["--out"],
        type=click.Path(path_type=Path),
        metavar="PATH",
        help="Where to, instead of standard output.",
    ),
    click.Option(
        ["--ranges"],
        is_flag=True,
        help="Say in the closing summary what was read of each log partition, not only how much in all.",
    ),
    click.Option(["--no-headers"], is_flag=True, help="Leave the titles of the columns out."),
)
"""What every job is called with."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line of this process, and exit."""
    # A failure is printed once, as the job's own error; py4j would log a stack trace as well.
    logging.getLogger().setLevel(logging.CRITICAL)
    with sigterm_as_interrupt():
        jobs.main(
            None if arguments is None else list(arguments),
            prog_name="kproxy replay",
            color=False if os.environ.get("NO_COLOR") else None,
        )


class Terminated(KeyboardInterrupt):
    """SIGTERM: code that stops at Ctrl-C, and clears up, does the same."""


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Within the block SIGTERM raises Terminated, in the main thread."""

    def stop(_number: int, _frame: FrameType | None) -> NoReturn:
        raise Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def say(text: str) -> None:
    """Print a line for people, on standard error."""
    click.echo(printable(text), err=True)


def _run(
    name: str, job: Job, common: Mapping[str, object], options: Mapping[str, object], plot: Path | None
) -> None:
    started_s = time.monotonic()
    with _failing_in_one_line():
        summary, exit_code = _answer(name, job, common, options, plot)
    say(json.dumps({"job": name, **summary, "seconds": round(time.monotonic() - started_s, 1)}))
    sys.exit(exit_code)


@contextmanager
def _failing_in_one_line() -> Iterator[None]:
    """End the process, with its exit code, for whatever ends a job early."""
    try:
        yield
    except KproxyError as failure:
        say(f"Error: {failure}")
        sys.exit(failure.exit_code if isinstance(failure, JobFailed) else ExitCode.FAILED)
    except BrokenPipeError:
        # The reader of standard output closed it. Click ends the process as a shell expects.
        raise
    except OSError as failure:
        say(f"Error: {failure}")
        sys.exit(ExitCode.FAILED)
    except KeyboardInterrupt as stop:
        number = signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT
        say(f"Error: stopped by {number.name}")
        sys.exit(_EXIT_CODE_OF_SIGNALS + number)


def _answer(
    name: str, job: Job, common: Mapping[str, object], options: Mapping[str, object], plot: Path | None
) -> tuple[dict[str, object], ExitCode]:
    """Run a job and write what it found; return the closing summary."""
    from kproxy.jobs.result_writer import ResultWriter, require_writable
    from kproxy.jobs.source_options import SourceOptions

    out = common["out"]
    assert out is None or isinstance(out, Path)
    with _progress(name) as progress:
        writer = ResultWriter(
            str(common["output"]), out, with_headers=not common["no_headers"], before_print=progress.end
        )
        writer.require_possible()
        if plot is not None:
            require_writable(plot)
        run = _Run(name, job, writer, progress)
        return run.answer(SourceOptions.of(common), options, plot, has_ranges=bool(common["ranges"]))


@dataclass(frozen=True, slots=True)
class _Run:
    """A job that is about to be run, where its result goes, and who is told how far it is."""

    name: str
    job: Job
    writer: "ResultWriter"
    progress: Progress

    def answer(
        self, source: "SourceOptions", options: Mapping[str, object], plot: Path | None, *, has_ranges: bool
    ) -> tuple[dict[str, object], ExitCode]:
        from kproxy.jobs.source_options import open_source
        from kproxy.jobs.spark_session import spark_failures, spark_session, task_counts

        self.progress.begin("Spark is starting")
        with spark_session(self.name) as spark, spark_failures():
            self.progress.begin("reading the log", lambda: task_counts(spark))
            context = JobContext(spark, open_source(spark, source), self.progress.say)
            result = self.job.run(context, **options)
            self.progress.begin("computing the answer")
            row_count = self.writer.write(result.frame, narrow=result.narrow, cells=result.cells)
            self.progress.begin("drawing")
            _draw(result, plot)
            self.progress.end()
            summary = _summary(context, result, row_count, has_ranges=has_ranges)
            return summary, _exit_code(context, result)


def _progress(name: str) -> Progress:
    is_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return Progress(name, lambda text: click.echo(text, err=True, nl=False), is_terminal=is_terminal)


def _draw(result: JobResult, plot: Path | None) -> None:
    if plot is None:
        return
    from kproxy.jobs.result_writer import written_aside

    assert result.plot is not None
    with written_aside(plot) as aside:
        result.plot(aside)


def _summary(
    context: JobContext, result: JobResult, row_count: int, *, has_ranges: bool
) -> dict[str, object]:
    return {
        "rows": row_count,
        **_what_was_read(context.ranges_read, has_ranges=has_ranges),
        "gaps": [
            {
                "partition": gap.partition,
                "firstOffset": gap.first_offset,
                "endOffset": gap.end_offset,
                "reason": gap.reason,
            }
            for gap in context.report.gaps
        ],
        **context.report.summary,
        **result.extra,
    }


def _what_was_read(ranges: "Sequence[LogRange]", *, has_ranges: bool) -> dict[str, object]:
    """Return how much of the log was read, and if asked for which of it. Exported history has no such ranges."""
    if not ranges:
        return {}
    read = {
        "logPartitions": len({part.partition for part in ranges}),
        "offsets": sum(part.length for part in ranges),
    }
    listed = [
        {"partition": part.partition, "firstOffset": part.first_offset, "endOffset": part.end_offset}
        for part in ranges
    ]
    return {"read": read, "ranges": listed} if has_ranges else {"read": read}


def _exit_code(context: JobContext, result: JobResult) -> ExitCode:
    """Return the job's own exit code; that of a partial failure when records were missing."""
    if result.exit_code is ExitCode.OK and context.report.gaps:
        return ExitCode.PARTIAL_FAILURE
    return result.exit_code
