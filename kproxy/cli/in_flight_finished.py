"""`kproxy in-flight finished`: records of the recent past that are done with, and who had them last."""

import time
from typing import Final

import click

from kproxy.cli.backing_cluster import BackingCluster, with_backing_cluster
from kproxy.cli.log_reading import opened
from kproxy.cli.log_replay import (
    absent_only_if_all_was_read,
    fail_if_in_part,
    replay_log,
    selected_part,
    servers_text,
    warn_of_unusable,
    with_selection,
)
from kproxy.cli.output import Column, Output, with_output
from kproxy.notation import TIME_FORMS, iso_time
from kproxy.statelog.actors import Cause, RecordEnd
from kproxy.time_options import MOMENT
from kproxy.wording import counted

ENDS: Final = (*(end.value for end in RecordEnd), Cause.OPERATOR.value, "not-recorded")
USUAL_ENDS: Final = (RecordEnd.DELIVERY_LIMIT.value, RecordEnd.REJECT.value, Cause.OPERATOR.value)
"""What nobody accepted: what an SRE is asked about."""
MOST_SHOWN: Final = 100_000

_COLUMNS: Final = (
    Column("TIME", "time"),
    Column("GROUP", "groupId"),
    Column("TOPIC", lambda run: run["topicName"] or run["topicId"]),
    Column("PARTITION", "partition"),
    Column("FIRST-OFFSET", "firstOffset"),
    Column("LAST-OFFSET", "lastOffset"),
    Column("ENDED-BY", "endedBy"),
    Column("EVENT", "event"),
    Column("DELIVERIES", "deliveryCount"),
    Column("CONSUMER-ID", "memberId"),
    Column("CLIENT-ID", "clientId"),
    Column("REASON", "reason", is_wide=True),
    Column("LOG-PARTITION", "logPartition", is_wide=True),
    Column("LOG-OFFSET", "logOffset", is_wide=True),
)


@click.command(
    epilog="""Examples:

\b
  kproxy in-flight finished -b localhost:9092 -g orders-workers
  kproxy in-flight finished -b localhost:9092 -g orders-workers -t orders --since 1d
  kproxy in-flight finished -b localhost:9092 --ended-by reject -o csv

ENDED-BY is what ended records for good: delivery-limit, reject or operator, unless --ended-by says otherwise; EVENT is
how that came about. CONSUMER-ID and CLIENT-ID are who had them last. The exit code is 3 when the log has no such group,
topic or partition, and 6 when a part of the log could not be read: that may have it.
"""
)
@with_selection
@click.option(
    "--since",
    "since_ms",
    type=MOMENT,
    default="1h",
    show_default=True,
    help=f"From this time on: {TIME_FORMS}, or how long ago: 1h.",
)
@click.option(
    "--ended-by",
    "ends",
    type=click.Choice(ENDS),
    multiple=True,
    default=USUAL_ENDS,
    show_default=True,
    help="Ended by this only; may be repeated.",
)
@click.option(
    "--most",
    type=click.IntRange(1, MOST_SHOWN),
    default=1000,
    show_default=True,
    help="So many runs of records, the newest ones.",
)
@click.option("--from-log", is_flag=True, help="What it always does: nobody but the log remembers them.")
@with_output
@with_backing_cluster
def finished(  # noqa: PLR0913 - one for each option
    cluster: BackingCluster,
    /,
    group: str | None,
    topic: str | None,
    partition: int | None,
    *,
    since_ms: int,
    ends: tuple[str, ...],
    most: int,
    output: str,
    no_headers: bool,
    from_log: bool,  # noqa: ARG001 - there is no other source
) -> None:
    """List records that were given up: rejected, archived at the delivery limit, or by an operator.

    They are told by the state log in the backing cluster, the newest first; a running kproxy is not asked.
    """
    from kproxy.clients.history.finished import FinishedRecords

    name = cluster.settings.state_topic_name
    instead = f"kproxy replay audit -b {servers_text(cluster)}"
    part = selected_part(cluster, group, topic, partition, instead)
    asked = FinishedRecords(part.selected, ends, most, since_ms)
    with opened(cluster, name) as reader:
        replayed = replay_log(reader, name, asked, instead, group=group)
    with absent_only_if_all_was_read(part, replayed):
        found = asked.runs(name)
    answer = {
        "apiVersion": "kproxy/v1",
        "kind": "FinishedRecords",
        "asOf": iso_time(time.time_ns() // 1_000_000),
        "since": iso_time(since_ms),
        "dropped": asked.dropped_count,
        "items": list(found),
    }
    Output(output, not no_headers).show(answer, found, _COLUMNS)
    warn_of_unusable(replayed)
    if asked.dropped_count:
        more = counted(asked.dropped_count, "older run")
        click.echo(f"{more} of records not shown: --most shows more, a later --since fewer", err=True)
    elif not found:
        click.echo(f"Nothing ended like that since {iso_time(since_ms)}.", err=True)
    fail_if_in_part(replayed)
