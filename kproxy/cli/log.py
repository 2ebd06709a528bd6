"""`kproxy log`: the state log in the backing cluster, record by record, whether or not a kproxy runs."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

import click

from kproxy.cli.exit_codes import CommandFailed, ExitCode
from kproxy.cli.output import with_table_form
from kproxy.cli.progress import progress
from kproxy.cli.setting_options import with_backing_cluster
from kproxy.clients.failures import TopicNotThere
from kproxy.clients.log_ranges import LogRange
from kproxy.clients.tables import paged_table_lines, table_lines
from kproxy.settings import HostPort, LoadedSettings
from kproxy.wording import counted

if TYPE_CHECKING:
    from kproxy.clients.log_lines import LogLine
    from kproxy.clients.topic_reader import TopicReader

F = TypeVar("F", bound=Callable[..., object])

_CLIENT_OPTIONS: Final[Mapping[str, object]] = {
    "client_id": "kproxy-log",
    "auto_offset_reset": "earliest",
    "max_poll_records": 2_000,
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which records: of one of the two topics, of all partitions or one, between two offsets, both inclusive."""

    topic: str
    partition: int | None
    from_offset: int | None
    to_offset: int | None
    max_records: int | None

    def part_of(self, held: LogRange) -> LogRange:
        """Return what of a partition is wanted."""
        end_offset = held.end_offset if self.to_offset is None else self.to_offset + 1
        return held.within(self.from_offset or 0, end_offset)


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
        click.option("-p", "--partition", type=offset, help="This partition only."),
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

    It needs no running kproxy. The topics are those of kproxy.state.topic.name and kproxy.groups.topic.name.
    """


@log.command(
    epilog="""Examples:

\b
  kproxy log dump -b localhost:9092 -p 12 --from-offset 1000 | jq 'select(.key.data.groupId == "workers")'
  kproxy log dump -b localhost:9092 --topic groups -o table

The exit code is 3 when there is no such topic, 4 when the cluster cannot be reached, and 6 when some records
cannot be decoded.
"""
)
@_with_range
@with_table_form("jsonl", "table", default="jsonl")
@with_backing_cluster
def dump(loaded: LoadedSettings, /, output: str, *, no_headers: bool, **wanted: object) -> None:
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
    lines = counted(
        _lines(loaded, _wanted(wanted), is_watched=sys.stderr.isatty() and not sys.stdout.isatty())
    )
    if output == "table":
        rows = (row_of(line) for line in lines)
        texts = paged_table_lines(TABLE_HEADER, rows, with_header=not no_headers)
    else:
        texts = (json.dumps(json_of(line), separators=(",", ":")) for line in lines)
    for text in texts:
        click.echo(text)
    _fail_if_undecodable(undecodable)


@log.command(
    epilog="""Examples:

\b
  kproxy log stats -b localhost:9092
  kproxy log stats -b localhost:9092 --topic groups -o jsonl

The exit codes are those of kproxy log dump.
"""
)
@_with_range
@with_table_form("jsonl", "table", default="table")
@with_backing_cluster
def stats(loaded: LoadedSettings, /, output: str, *, no_headers: bool, **wanted: object) -> None:
    """Count the records of the state log, by partition and type."""
    from kproxy.cli.log_statistics import TABLE_HEADER, PartitionStatistics, json_of, row_of
    from kproxy.clients.log_lines import LogTopic

    asked = _wanted(wanted)
    found: dict[int, PartitionStatistics] = {}
    for line in _lines(loaded, asked, is_watched=None):
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


def _wanted(options: dict[str, object]) -> Wanted:
    return Wanted(**options)  # type: ignore[arg-type]  # click checked what it parsed


def _lines(loaded: LoadedSettings, wanted: Wanted, *, is_watched: bool | None) -> Iterator["LogLine"]:
    """Yield the records that are wanted, partition after partition."""
    from kproxy.clients.log_lines import LogTopic, line_of

    settings = loaded.ready_to_run()
    kind = LogTopic(wanted.topic)
    topic = settings.state_topic_name if kind is LogTopic.STATE else settings.groups_topic_name
    with _opened(settings.bootstrap_servers, topic) as reader:
        ranges = _ranges(reader, topic, wanted)
        total = sum(part.length for part in ranges)
        with progress(topic, total, is_watched=is_watched) as advance:
            records = ((part, record) for part in ranges for poll in reader.polls(part) for record in poll)
            for part, record in islice(records, wanted.max_records):
                advance(1)
                yield line_of(kind, topic, part.partition, record)


@contextmanager
def _opened(bootstrap_servers: Sequence[HostPort], topic: str) -> Iterator["TopicReader"]:
    """Connect to a topic for the length of the block."""
    from kproxy.clients import topic_reader

    try:
        with topic_reader.connected(
            [str(server) for server in bootstrap_servers], _CLIENT_OPTIONS
        ) as consumer:
            yield topic_reader.TopicReader(consumer, topic)
    except TopicNotThere as failure:
        advice = "another name is given with -X kproxy.state.topic.name=… or -X kproxy.groups.topic.name=…"
        raise CommandFailed(f"{failure}; {advice}", failure.exit_code) from failure


def _ranges(reader: "TopicReader", topic: str, wanted: Wanted) -> Sequence[LogRange]:
    held = reader.ranges()
    if wanted.partition is not None:
        held = [part for part in held if part.partition == wanted.partition]
        if not held:
            raise CommandFailed(f"{topic} has no partition {wanted.partition}", ExitCode.NOT_FOUND)
    return [wanted.part_of(part) for part in held]


def _fail_if_undecodable(count: int) -> None:
    if count:
        raise CommandFailed(f"{counted(count, 'record')} cannot be decoded", ExitCode.PARTIAL_FAILURE)
