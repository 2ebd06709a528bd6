"""`kproxy log stuck` and `audit`: questions to a log that is small, answered in this process, without Spark."""

import time
from collections.abc import Callable, Sequence
from typing import Final

import click

from kproxy.cli.backing_cluster import BackingCluster, with_backing_cluster
from kproxy.cli.exit_codes import CommandFailed, ExitCode
from kproxy.cli.in_flight_place import with_offset
from kproxy.cli.known_names import member_names
from kproxy.cli.log_reading import Unread, opened
from kproxy.cli.log_replay import (
    Replayed,
    absent_only_if_all_was_read,
    ends_of_topics,
    fail_if_in_part,
    leave_out_unknown_ends,
    replay_log,
    selected_part,
    servers_text,
    warn_of_unusable,
    with_selection,
)
from kproxy.cli.output import Column, Output, with_output
from kproxy.clients.admin_port import Item
from kproxy.notation import TIME_FORMS
from kproxy.time_options import DURATION, MOMENT


def _last(name: str) -> Callable[[Item], object]:
    """Return what shows a field of the last entry of a history."""
    return lambda row: row["history"][-1][name] if row["history"] else None


_GROUP_AND_TOPIC: Final = (
    Column("GROUP", "groupId"),
    Column("TOPIC", lambda row: row["topicName"] or row["topicId"]),
    Column("PARTITION", "partition"),
)
_STUCK: Final = (
    *_GROUP_AND_TOPIC,
    Column("OFFSET", "offset"),
    Column("REASON", "reason"),
    Column("DELIVERIES", "deliveryCount"),
    Column("DONE-BEHIND", "doneBehind"),
    Column("LAG", "lag"),
    Column("SINCE", "since"),
    Column("LAST-EVENT", _last("event")),
    Column("LAST-CLIENT", _last("clientId")),
)
_AUDIT: Final = (
    Column("TIME", "time"),
    *_GROUP_AND_TOPIC,
    Column("FIRST-OFFSET", "firstOffset"),
    Column("LAST-OFFSET", "lastOffset"),
    Column("EVENT", "event"),
    Column("ENDED-BY", "endedBy"),
    Column("DELIVERIES", "deliveryCount"),
    Column("CLIENT-ID", "clientId"),
    Column("CONSUMER-ID", "memberId", is_wide=True),
    Column("HOST", "clientHost", is_wide=True),
    Column("START-OFFSET", "startOffset", is_wide=True),
    Column("REASON", "reason", is_wide=True),
    Column("LOG-PARTITION", "logPartition", is_wide=True),
    Column("LOG-OFFSET", "logOffset", is_wide=True),
)
NO_ACQUISITIONS: Final = (
    "Left out: records that a member merely holds, however long, for acquisitions are not in the log. "
    "A running kproxy tells of them: kproxy why, or kproxy in-flight list --state Acquired --held 60000"
)


@click.command(
    epilog="""Examples:

\b
  kproxy log stuck -b localhost:9092
  kproxy log stuck -b localhost:9092 -g workers --quiet 1h -o json

REASON is blocks-start-offset (records behind it are done with, it is not), near-delivery-limit (few deliveries are
left), no-progress (its queue stands still before older records). The answer is that of kproxy replay stuck, which reads
logs of any size. The exit code is 3 when the log has no such group, topic or partition, and 6 when a part of the log
could not be read, which may have it, or no-progress could not be told of a queue, for its topic has no leader there.
"""
)
@with_selection
@click.option(
    "--delivery-limit",
    type=click.IntRange(2),
    default=5,
    show_default=True,
    help="share.delivery.count.limit of the group.",
)
@click.option(
    "--near",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="How few deliveries before the limit are near.",
)
@click.option(
    "--behind",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="How many records done with must wait behind one that blocks.",
)
@click.option(
    "--quiet",
    "quiet_ms",
    type=DURATION,
    default="5m",
    show_default=True,
    help="For how long nothing was done with, for no-progress.",
)
@with_output
@with_backing_cluster
def stuck(  # noqa: PLR0913 - one for each option
    cluster: BackingCluster,
    /,
    group: str | None,
    topic: str | None,
    partition: int | None,
    *,
    delivery_limit: int,
    near: int,
    behind: int,
    quiet_ms: int,
    output: str,
    no_headers: bool,
) -> None:
    """Find records that hold a queue up, or are about to be given up, in a log that is small.

    It needs neither Spark nor a running kproxy. How often the log tells that a record was tried, and by whom last,
    stands beside it; all that it tells of it, in -o json.

    What a member merely holds, however long, is not found: acquisitions are not in the log. kproxy why tells of that,
    of a running kproxy. SINCE is when the log first tells of the record, or since when its queue stands still: not how
    old the record is, which is OLDEST-AGE of kproxy groups.
    """
    from kproxy.clients.history.stuck import Stuck

    quiet_since_ms = time.time_ns() // 1_000_000 - quiet_ms
    settings = cluster.settings
    instead = f"kproxy replay stuck -b {servers_text(cluster)}"
    part = selected_part(cluster, group, topic, partition, instead)
    asked, unread_ends = Stuck(part.selected, delivery_limit - near, behind), Unread()
    with opened(cluster, settings.state_topic_name) as reader:
        replayed = replay_log(reader, settings.state_topic_name, asked, instead, group=group)
        ends = ends_of_topics(reader, part, quiet_since_ms, unread_ends)
    with absent_only_if_all_was_read(part, replayed):
        found = asked.records(
            replayed.states, ends, quiet_since_ms=quiet_since_ms, place=settings.state_topic_name
        )
    leave_out_unknown_ends(asked, part, unread_ends)
    _show("StuckRecords", found, _STUCK, Output(output, not no_headers), replayed)
    click.echo(NO_ACQUISITIONS, err=True)
    fail_if_in_part(replayed)
    unread_ends.fail_if_any()


@click.command(
    epilog="""Examples:

\b
  kproxy log audit -b localhost:9092 -g workers -t jobs -p 0 --offset 4711
  kproxy log audit -b localhost:9092 --member worker-3 --since 1h -o wide

EVENT and ENDED-BY are those of kproxy replay audit, which reads logs of any size. The exit code is 3 when the log has
no such group, topic, partition or member, and 6 when a part of the log could not be read: that may have it.
"""
)
@with_selection
@with_offset
@click.option("--member", metavar="MEMBER", shell_complete=member_names, help="A member id, or a client id.")
@click.option(
    "--since", "since_ms", type=MOMENT, help=f"From this time on: {TIME_FORMS}, or how long ago: 1h."
)
@click.option("--until", "until_ms", type=MOMENT, help="Before this time.")
@with_output
@with_backing_cluster
def audit(  # noqa: PLR0913 - one for each option
    cluster: BackingCluster,
    /,
    group: str | None,
    topic: str | None,
    partition: int | None,
    *,
    offset: int | None,
    member: str | None,
    since_ms: int | None,
    until_ms: int | None,
    output: str,
    no_headers: bool,
) -> None:
    """Tell all that happened to a record, or that a member did, of a log that is small.

    It needs neither Spark nor a running kproxy. Give --offset, --member or both. It has acknowledgements, locks that
    ended and what operators did; who acquired a record and has not said anything of it yet is not in the log.
    """
    from kproxy.clients.history.audit import Audit

    if offset is None and member is None:
        raise click.UsageError("audit of what? give --offset N, --member ID, or both")
    name = cluster.settings.state_topic_name
    instead = f"kproxy replay audit -b {servers_text(cluster)}"
    part = selected_part(cluster, group, topic, partition, instead)
    asked = Audit(part.selected, offset, member, since_ms, until_ms)
    with opened(cluster, name) as reader:
        replayed = replay_log(reader, name, asked, instead, group=group)
    with absent_only_if_all_was_read(part, replayed):
        events = asked.events(name)
    missing = asked.missing_offset()
    if missing and not events:
        fail_if_in_part(replayed)
        raise CommandFailed(missing, ExitCode.NOT_FOUND)
    _show("AuditEvents", events, _AUDIT, Output(output, not no_headers), replayed)
    if missing:
        click.echo(f"Note: {missing}", err=True)
    elif not events:
        click.echo(
            f"Nothing that {member!r} acknowledged or lost is in what was asked for: another --since, --until or "
            "--offset may have more; what a member merely holds is not in the log (kproxy in-flight list)",
            err=True,
        )
    fail_if_in_part(replayed)


def _show(
    kind: str, items: Sequence[Item], columns: Sequence[Column], output: Output, replayed: Replayed
) -> None:
    answer = {"kind": kind, "items": items, "unusableRecords": replayed.unusable_count}
    output.show(answer, items, columns)
    warn_of_unusable(replayed)
