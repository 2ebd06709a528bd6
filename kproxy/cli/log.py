"""`kproxy log`: the state log in the backing cluster, record by record, whether or not a kproxy runs."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

import click

from kproxy.cli.backing_cluster import BackingCluster, with_backing_cluster
from kproxy.cli.exit_codes import CommandFailed, ExitCode
from kproxy.cli.known_names import group_names
from kproxy.cli.log_questions import audit, stuck
from kproxy.cli.log_reading import Unread, counted_by, opened
from kproxy.cli.output import with_table_form
from kproxy.cli.progress import progress
from kproxy.clients.failures import CannotConnect
from kproxy.clients.log_ranges import LogRange, leaderless_text
from kproxy.clients.tables import paged_table_lines, table_lines
from kproxy.wording import counted

if TYPE_CHECKING:
    from kproxy.clients.log_lines import LogLine, LogTopic
    from kproxy.clients.topic_reader import TopicReader

F = TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which records: of one of the two topics, of all log partitions or one, between two offsets, both inclusive.

    With `group` those that are about one share group, and those that cannot be decoded: they may be about any.
    """

    topic: str
    group: str | None
    log_partition: int | None
    from_offset: int | None
    to_offset: int | None
    max_records: int | None

    def part_of(self, held: LogRange) -> LogRange:
        """Return what of a partition is wanted."""
        end_offset = held.end_offset if self.to_offset is None else self.to_offset + 1
        return held.within(self.from_offset or 0, end_offset)

    def takes(self, line: "LogLine") -> bool:
        """Return whether a record is about the group that is wanted; claims are about none."""
        return self.group is None or line.key is None or getattr(line.key, "group_id", None) == self.group


def _with_range(command: F) -> F:
    """Give `command` the options that become the fields of `Wanted`."""
    offset = click.IntRange(min=0)
    options = (
        click.option(
            "--topic",
            type=click.Choice(["state", "groups"]),
            default="state",
            show_default=True,
            help="State of share-partitions, or share groups with their members.",
        ),
        click.option(
            "-g",
            "--group",
            metavar="GROUP",
            shell_complete=group_names,
            help="Of this group only, with what cannot be decoded.",
        ),
        click.option("--log-partition", type=offset, help="This partition of the state log only."),
        click.option("--from-offset", type=offset, help="The first offset; inclusive."),
        click.option("--to-offset", type=offset, help="The last offset; inclusive."),
        click.option("--max-records", type=click.IntRange(min=1), help="Stop after so many records."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group()
def log() -> None:
    """Read the state log in the backing cluster.

    It needs no running kproxy. The topics are those of kproxy.state.topic.name and kproxy.groups.topic.name, which are
    __kproxy_share_state and __kproxy_share_groups unless somebody set them: kproxy status shows them, and the backing
    cluster for -b, as backingCluster. Other names are given with -X kproxy.state.topic.name=NAME, or with the --config
    of the kproxy that has them.
    """


@log.command(
    epilog="""Examples:

\b
  kproxy log dump -b localhost:9092 -g workers | jq .value.data
  kproxy log dump -b localhost:9092 --log-partition 12 --from-offset 1000
  kproxy log dump -b localhost:9092 --topic groups -o table

The exit code is 3 when there is no such topic, or no record of the group, 4 when the cluster cannot be reached, and
6 when some records cannot be decoded, or read: those of the group may be among these.
"""
)
@_with_range
@with_table_form("jsonl", "table", default="jsonl")
@with_backing_cluster
def dump(cluster: BackingCluster, /, output: str, *, no_headers: bool, **wanted: object) -> None:
    """Print the records of the state log.

    Key and value have Kafka's field names. Claims, tombstones and headers are shown as well; who acknowledged stands in
    the headers. A record that cannot be decoded is printed with the reason and its bytes.
    """
    from kproxy.cli.log_rows import TABLE_HEADER, row_of
    from kproxy.clients.dump_format import json_of

    undecodable = 0

    def counted(lines: Iterator["LogLine"]) -> Iterator["LogLine"]:
        nonlocal undecodable
        for line in lines:
            undecodable += line.key is None
            yield line

    # A bar between the lines of a dump would only be in the way.
    asked = _wanted(wanted)
    unread = _unread(asked)
    lines = counted(
        _lines(cluster, asked, unread, is_watched=sys.stderr.isatty() and not sys.stdout.isatty())
    )
    if output == "table":
        rows = (row_of(line) for line in lines)
        texts = paged_table_lines(TABLE_HEADER, rows, with_header=not no_headers)
    else:
        texts = (json.dumps(json_of(line), separators=(",", ":")) for line in lines)
    for text in texts:
        click.echo(text)
    _fail_if_undecodable(undecodable)
    unread.fail_if_any()


@log.command(
    epilog="""Examples:

\b
  kproxy log stats -b localhost:9092
  kproxy log stats -b localhost:9092 -g workers
  kproxy log stats -b localhost:9092 --topic groups -o jsonl

The exit codes are those of kproxy log dump.
"""
)
@_with_range
@with_table_form("jsonl", "table", default="table")
@with_backing_cluster
def stats(cluster: BackingCluster, /, output: str, *, no_headers: bool, **wanted: object) -> None:
    """Count the records of the state log, by partition and type."""
    from kproxy.cli.log_statistics import TABLE_HEADER, PartitionStatistics, json_of, row_of
    from kproxy.clients.log_lines import LogTopic

    asked = _wanted(wanted)
    found: dict[int, PartitionStatistics] = {}
    unread = _unread(asked)
    for line in _lines(cluster, asked, unread, is_watched=None):
        if line.partition not in found:
            found[line.partition] = PartitionStatistics(LogTopic(asked.topic), line.partition)
        found[line.partition].add(line)
    if output == "table":
        rows = [row_of(statistics) for statistics in found.values()]
        for text in table_lines(TABLE_HEADER, rows, with_header=not no_headers):
            click.echo(text)
    else:
        for statistics in found.values():
            click.echo(json.dumps(json_of(statistics)))
    _fail_if_undecodable(sum(statistics.undecodable_count for statistics in found.values()))
    unread.fail_if_any()


def _wanted(options: dict[str, object]) -> Wanted:
    return Wanted(**options)  # type: ignore[arg-type]  # click checked what it parsed


def _unread(wanted: Wanted) -> Unread:
    # The state of a group may be in many partitions, as `_of_group` says.
    return Unread(wanted.group if wanted.topic == "groups" else None)


def _lines(
    cluster: BackingCluster, wanted: Wanted, unread: Unread, *, is_watched: bool | None
) -> Iterator["LogLine"]:
    """Yield the records that are wanted, partition after partition; `unread` takes note of what cannot be read."""
    from kproxy.clients.log_lines import LogTopic, line_of

    settings = cluster.settings
    kind = LogTopic(wanted.topic)
    topic = settings.state_topic_name if kind is LogTopic.STATE else settings.groups_topic_name
    with opened(cluster, topic) as reader:
        ranges = _ranges(reader, topic, kind, wanted, unread)
        total = sum(part.length for part in ranges)
        with progress(topic, total, is_watched=is_watched) as advance:
            lines = (
                line_of(kind, topic, part.partition, record)
                for part in ranges
                for poll in reader.polls(part)
                for record in counted_by(advance, poll)
            )
            found = 0
            for line in islice(filter(wanted.takes, lines), wanted.max_records):
                found += 1
                yield line
        if wanted.group is not None and not found:
            unread.fail_if_any()
            raise CommandFailed(
                f"{topic} has no record of share group {wanted.group!r}, or none in the part of it that was asked for",
                ExitCode.NOT_FOUND,
            )


def _ranges(
    reader: "TopicReader", topic: str, kind: "LogTopic", wanted: Wanted, unread: Unread
) -> Sequence[LogRange]:
    held, leaderless = reader.ranges_with_leader()
    partition_count = len(held) + len(leaderless)
    if wanted.log_partition is not None:
        chosen = [part for part in held if part.partition == wanted.log_partition]
        if lost := [each for each in leaderless if each.partition == wanted.log_partition]:
            raise CannotConnect(
                f"{topic} cannot be read: {leaderless_text(lost)}; ask again when there is one"
            )
        if not chosen:
            raise CommandFailed(f"{topic} has no partition {wanted.log_partition}", ExitCode.NOT_FOUND)
        return [wanted.part_of(part) for part in chosen]
    if leaderless:
        unread.leave_out(topic, leaderless, partition_count)
    chosen = held if wanted.group is None else _of_group(held, partition_count, kind, wanted.group)
    return [wanted.part_of(part) for part in chosen]


def _of_group(held: Sequence[LogRange], partition_count: int, kind: "LogTopic", group: str) -> list[LogRange]:
    """Return where the records of a group can be.

    A state topic of format 1, and Kafka's own, have the share-partitions of a group in many partitions. Which it is
    stands in claims, which may have been deleted: so everything is read.
    """
    from kproxy.clients.log_lines import LogTopic
    from kproxy.share.identifiers import GroupId
    from kproxy.statelog.partitioning import group_partition

    if kind is LogTopic.STATE:
        return list(held)
    place = group_partition(GroupId(group), partition_count)
    return [part for part in held if part.partition == place]


def _fail_if_undecodable(count: int) -> None:
    if count:
        raise CommandFailed(f"{counted(count, 'record')} cannot be decoded", ExitCode.PARTIAL_FAILURE)


for _command in (stuck, audit):
    log.add_command(_command)
