"""The job `export`: its options, and which of the three exports they mean: of a cluster, of files, of plain records."""

from typing import Final

import click

from kproxy.jobs.export.checkpoint import begun_at, require_continuation, require_same_log
from kproxy.jobs.export.exported_files import BY_TIME, by_time, rows_by_time, write_new, written_at
from kproxy.jobs.export.exporter import Exporter
from kproxy.jobs.history.selection import is_lost, report_losses
from kproxy.jobs.history.silver import silver_rows
from kproxy.jobs.job import Job, JobContext, JobResult
from kproxy.jobs.sources.log_reader import OnGap


def run(  # noqa: PLR0913 - the options of the command line
    context: JobContext,
    *,
    to: str,
    records: bool,
    checkpoint: str | None,
    continuous: float | None,
    max_records_per_batch: int | None,
    on_gap: OnGap,
) -> JobResult:
    """Write the history to `to`."""
    if records:
        return _export_records(context, to)
    if context.cluster is None:
        return _export_files(context, to)
    noted = checkpoint or f"{to.rstrip('/')}/_checkpoint"
    require_continuation(to, noted)
    require_same_log(noted, context.log.identity)
    begun = begun_at(noted, context.log.ranges())
    exporter = Exporter(context, to, noted, begun, on_gap=on_gap)
    exporter.export(context.cluster, every_s=continuous, most_per_batch=max_records_per_batch)
    exported = exporter.exported
    return JobResult(
        exporter.written_by_time(), {"rows": exported.row_count, "batches": len(exported.batches)}
    )


def _export_records(context: JobContext, to: str) -> JobResult:
    count = write_new(context.log.records(), to)
    written = context.spark.createDataFrame([(to, count)], "path string, records bigint")
    return JobResult(written, {"rows": count})


def _export_files(context: JobContext, to: str) -> JobResult:
    count = write_new(by_time(silver_rows(context.log.records())), to, by=BY_TIME)
    written = written_at(context.spark, to)
    report_losses(context.report, written.where(is_lost()))
    return JobResult(rows_by_time(written), {"rows": count})


JOB: Final = Job(
    run=run,
    options=(
        click.Option(["--to"], required=True, metavar="PATH", help="The folder, or URI, to write to."),
        click.Option(
            ["--records"], is_flag=True, help="The records as they are, to be read again with --files."
        ),
        click.Option(
            ["--checkpoint"],
            metavar="PATH",
            help="Where it is noted how far the export is. Default: in the folder.",
        ),
        click.Option(
            ["--continuous"],
            type=click.FloatRange(min=0.1),
            metavar="SECONDS",
            help="Go on until Ctrl-C, with a micro-batch every so often.",
        ),
        click.Option(
            ["--max-records-per-batch"],
            type=click.IntRange(min=1),
            help="How many records a micro-batch reads at most.",
        ),
        click.Option(
            ["--on-gap"],
            type=click.Choice(["fail", "report"]),
            default="fail",
            show_default=True,
            help="What to do about records that were deleted before they were exported.",
        ),
    ),
    epilog="""Examples:

\b
  kproxy replay export -b localhost:9092 --to history
  kproxy replay export -b localhost:9092 --to history --continuous 30
  kproxy replay export --files dump.jsonl --to records --records

The folders are dt=YYYY-MM-DD/hour=H by log time in UTC. Records that are missing have a row of their own.
""",
)
"""The job."""
