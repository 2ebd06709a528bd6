"""`kproxy groups reset-offsets`: where a share group goes on, over the wire.

What is refused, and in which words, is what Kafka's own tool refuses (`ShareGroupCommand`, `GroupOffsetsResetter`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from kproxy.cli.cluster_groups import answer
from kproxy.cli.execution import end, with_execution
from kproxy.cli.group_choice import with_group
from kproxy.cli.group_source import Cluster, with_cluster
from kproxy.cli.output import Column, Output, with_table_form
from kproxy.clients.failures import ClientFailed, NotThere
from kproxy.clients.tables import printable
from kproxy.notation import TIME_FORMS, timestamp_ms_of

if TYPE_CHECKING:
    from kproxy.clients.cluster.cluster_client import ClusterClient
    from kproxy.clients.cluster.topics import Partition

_COLUMNS: Final = (
    Column("GROUP", "groupId"),
    Column("TOPIC", "topicName"),
    Column("PARTITION", "partition"),
    Column("NEW-OFFSET", "newOffset"),
)


@dataclass(frozen=True, slots=True)
class TopicChoice:
    """A topic of the command line: `orders`, or some of its partitions, `orders:0,1`; none stands for all."""

    topic_name: str
    partitions: tuple[int, ...]


def _time(_context: click.Context, _option: click.Parameter, text: str | None) -> int | None:
    """Return a time as milliseconds since the epoch."""
    try:
        return None if text is None else timestamp_ms_of(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is no time: expected {TIME_FORMS}") from None


def _topics(
    _context: click.Context, _option: click.Parameter, texts: Sequence[str]
) -> tuple[TopicChoice, ...]:
    return tuple(map(_topic, texts))


def _topic(text: str) -> TopicChoice:
    name, colon, numbers = text.partition(":")
    partitions = numbers.split(",") if colon else []
    if not name or not all(number.isascii() and number.isdigit() for number in partitions):
        raise click.BadParameter(f"{text!r}: expected TOPIC or TOPIC:PARTITION,…, as in orders:0,1")
    return TopicChoice(name, tuple(map(int, partitions)))


@click.command(
    "reset-offsets",
    epilog="""Examples:

\b
  kproxy groups reset-offsets orders-workers -b localhost:9092 --all-topics --to-earliest
  kproxy groups reset-offsets orders-workers -b localhost:9092 -t orders:0,1 --to-datetime 2026-11-20T13:00Z --execute

The exit code is 3 when there is no such topic or partition, or no such group to take all topics of, 1 when the group
has members, and 6 when some partitions were refused.
""",
)
@with_group
@click.option(
    "-t",
    "--topic",
    "topics",
    metavar="TOPIC[:P,…]",
    multiple=True,
    callback=_topics,
    help="A topic, or some partitions of it; may be repeated.",
)
@click.option("--all-topics", is_flag=True, help="Every topic of which the group has offsets.")
@click.option("--to-earliest", is_flag=True, help="To the first offset of each log.")
@click.option("--to-latest", is_flag=True, help="To the end of each log.")
@click.option(
    "--to-datetime",
    "datetime_ms",
    metavar="TIME",
    callback=_time,
    help=f"To the first record of that time or later: {TIME_FORMS}.",
)
@with_execution
@with_cluster
@with_table_form("table", "json", default="table")
def reset_offsets(
    cluster: Cluster,
    group_id: str,
    /,
    output: str,
    *,
    is_executed: bool,
    no_headers: bool,
    **chosen: Any,
) -> None:
    """Choose where a share group without members goes on.

    Its records from the new offset on are delivered, again or for the first time. A group that is not there is
    created. Without --execute the offsets are only shown.
    """
    topics = _scope(topics=chosen.pop("topics"), all_topics=chosen.pop("all_topics"))
    timestamp_ms = _way(**chosen)
    with cluster.connected() as client:
        offsets = _planned(client, group_id, topics, timestamp_ms)
        outcomes = _done(client, group_id, offsets) if is_executed else dict.fromkeys(offsets)
    items = [
        {"groupId": group_id, "topicName": each.topic_name, "partition": each.partition, "newOffset": offset}
        for each, offset in offsets.items()
        if outcomes[each] is None
    ]
    shown = answer("ShareGroupOffsets", items, executed=is_executed)
    Output(output, not no_headers).show(shown, items, _COLUMNS)
    for failure in filter(None, outcomes.values()):
        click.echo(printable(str(failure)), err=True)
    end({str(each): failure for each, failure in outcomes.items()}, "partition", is_executed=is_executed)


def _scope(*, topics: Sequence[TopicChoice], all_topics: bool) -> Sequence[TopicChoice] | None:
    """Return the topics that are meant, None for all of the group."""
    if bool(topics) == all_topics:
        raise click.UsageError("give --topic, once or more, or --all-topics")
    return None if all_topics else topics


def _way(*, to_earliest: bool, to_latest: bool, datetime_ms: int | None) -> int:
    """Return the time of the records wanted first, or what stands for an end of the log in ListOffsets."""
    from kproxy.clients.cluster.topics import EARLIEST, LATEST

    ways = [EARLIEST] * to_earliest + [LATEST] * to_latest + [datetime_ms] * (datetime_ms is not None)
    if len(ways) != 1 or ways[0] is None:
        raise click.UsageError("give one of --to-earliest, --to-latest and --to-datetime")
    return ways[0]


def _planned(
    client: "ClusterClient", group_id: str, topics: Sequence[TopicChoice] | None, timestamp_ms: int
) -> dict["Partition", int]:
    """Return the new offsets, by topic and partition."""
    from kproxy.clients.cluster.topics import LATEST, offsets_of_logs, require_partitions

    _require_without_members(client, group_id, is_needed=topics is None)
    partitions = _of_group(client, group_id) if topics is None else _of_topics(client, topics)
    require_partitions(client, partitions)
    found = offsets_of_logs(client, partitions, timestamp_ms)
    ends = offsets_of_logs(client, [each for each, offset in found.items() if offset is None], LATEST)
    for partition in ends:
        click.echo(f"{partition} has no record of that time or later: its end is taken", err=True)
    return {each: _known(each, offset) for each, offset in sorted({**found, **ends}.items())}


def _known(partition: "Partition", offset: int | None) -> int:
    if offset is None:
        raise ClientFailed(f"{partition} has no end: its leader did not say where its log ends")
    return offset


def _require_without_members(client: "ClusterClient", group_id: str, *, is_needed: bool) -> None:
    """Return if the group can be reset. Raises ClientFailed; NotThere if it is needed, and not there."""
    from kproxy.clients.cluster.share_groups import require_without_members

    try:
        require_without_members(client, group_id)
    except NotThere:
        if is_needed:
            raise
        click.echo(f"there is no share group {group_id!r} yet: --execute creates it", err=True)


def _of_group(client: "ClusterClient", group_id: str) -> list["Partition"]:
    from kproxy.clients.cluster.share_offsets import describe_offsets
    from kproxy.clients.cluster.topics import Partition

    found = [Partition(each.topic_name, each.partition) for each in describe_offsets(client, group_id)]
    if not found:
        click.echo(f"Share group {group_id!r} has no offset information.", err=True)
    return found


def _of_topics(client: "ClusterClient", topics: Sequence[TopicChoice]) -> list["Partition"]:
    from kproxy.clients.cluster.topics import Partition, partitions_of

    whole = partitions_of(client, [topic.topic_name for topic in topics if not topic.partitions])
    return [
        partition
        for topic in topics
        for partition in (
            [Partition(topic.topic_name, number) for number in topic.partitions] or whole[topic.topic_name]
        )
    ]


def _done(
    client: "ClusterClient", group_id: str, offsets: Mapping["Partition", int]
) -> dict["Partition", ClientFailed | None]:
    from kproxy.clients.cluster.share_offsets import alter_offsets

    return alter_offsets(client, group_id, offsets) if offsets else {}
