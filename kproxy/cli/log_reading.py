"""Reading the topics of the state log in the backing cluster: some of it, or all of a log that is small."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import click

from kproxy.cli.backing_cluster import BackingCluster
from kproxy.cli.exit_codes import CommandFailed, ExitCode
from kproxy.cli.progress import progress
from kproxy.clients.failures import CannotConnect, TopicNotThere
from kproxy.clients.log_ranges import Leaderless, LogRange, leaderless_text
from kproxy.wording import counted

if TYPE_CHECKING:
    from kproxy.clients.topic_reader import TopicReader
    from kproxy.wire.records import Record

MOST_RECORDS: Final = 250_000
"""Offsets of a topic that are read in this process: half a minute of an ordinary core. Of more, Spark is asked."""
_NO_STARTS: Final[Mapping[int, int]] = {}

_CLIENT_OPTIONS: Final[Mapping[str, object]] = {
    "client_id": "kproxy-log",
    "auto_offset_reset": "earliest",
    "max_poll_records": 2_000,
}


@dataclass(slots=True)
class Unread:
    """What of the log is left out of an answer, for it has no leader: the answer is whole without it, or in part.

    An answer about one `group` needs its own log partition alone, as since format 2 of the log, and there is none
    without that one.
    """

    group: str | None = None
    partitions: dict[str, Sequence[Leaderless]] = field(default_factory=dict)
    """By topic those that an answer lacks."""
    reasons: list[str] = field(default_factory=list)
    """What else it lacks, and why."""

    def leave_out(self, topic: str, leaderless: Sequence[Leaderless], partition_count: int) -> None:
        """Take note of them, and warn. Raises CannotConnect when nothing can be told without one of them."""
        from kproxy.share.identifiers import GroupId
        from kproxy.statelog.partitioning import group_partition

        if self.group is None:
            self.partitions[topic] = leaderless
            click.echo(f"Warning: left out of {topic}: {leaderless_text(leaderless)}", err=True)
            return
        place = group_partition(GroupId(self.group), partition_count)
        needed = [each for each in leaderless if each.partition == place]
        if needed:
            raise CannotConnect(
                f"{topic} has share group {self.group!r} in a partition that cannot be read: "
                f"{leaderless_text(needed)}; ask again when there is one"
            )

    def leave_out_for(self, reason: str) -> None:
        """Take note of something else that an answer lacks, and warn."""
        self.reasons.append(reason)
        click.echo(f"Warning: {reason}", err=True)

    def fail_if_any(self) -> None:
        """Raise CommandFailed, with the exit code of an answer in part, if the answer lacks anything."""
        said = [f"{topic}: {leaderless_text(each)}" for topic, each in self.partitions.items()]
        if said or self.reasons:
            reasons = "; ".join([*said, *self.reasons])
            raise CommandFailed(f"the answer is not whole: {reasons}", ExitCode.PARTIAL_FAILURE)


@contextmanager
def opened(cluster: BackingCluster, topic: str) -> Iterator["TopicReader"]:
    """Connect to a topic for the length of the block. Raises CommandFailed, ClientFailed."""
    from kproxy.clients import topic_reader

    cluster.require_access()
    options = {**_CLIENT_OPTIONS, **cluster.security.reader_options()}
    try:
        with topic_reader.connected(
            [str(each) for each in cluster.settings.bootstrap_servers], options
        ) as consumer:
            yield topic_reader.TopicReader(consumer, topic)
    except TopicNotThere as failure:
        advice = "another name is given with -X kproxy.state.topic.name=… or -X kproxy.groups.topic.name=…"
        raise CommandFailed(f"{failure}; {advice}", failure.exit_code) from failure


def counted_by(advance: Callable[[int], None], records: Iterable["Record"]) -> Iterator["Record"]:
    """Yield records, and count each of them."""
    for record in records:
        advance(1)
        yield record


def all_of(
    reader: "TopicReader",
    topic: str,
    *,
    instead: str,
    most: int = MOST_RECORDS,
    starts: Mapping[int, int] = _NO_STARTS,
    unread: Unread | None = None,
) -> Iterator[tuple[int, "Record"]]:
    """Yield all records of a topic with the number of their log partition, partition after partition.

    Those of a log partition that `starts` has an offset of begin there, unless it has lost all from there on.
    Raises CommandFailed before anything is read when there may be more than `most`; `instead` is the command that
    answers the question all the same. Partitions without a leader are left out, which `unread` takes note of;
    without it CannotConnect is raised for them.
    """
    held = _readable(reader, topic, unread)
    ranges = [_from(part, starts.get(part.partition, part.first_offset)) for part in held]
    total = sum(part.length for part in ranges)
    if total > most:
        raise CommandFailed(
            f"{topic} has {counted(total, 'offset', ',')}, more than {most:,}, "
            f"the most that is read without Spark: {instead}",
            ExitCode.FAILED,
        )
    with progress(topic, total) as advance:
        for part in ranges:
            for poll in reader.polls(part):
                for record in counted_by(advance, poll):
                    yield part.partition, record


def _readable(reader: "TopicReader", topic: str, unread: Unread | None) -> list[LogRange]:
    if unread is None:
        return reader.ranges()
    ranges, leaderless = reader.ranges_with_leader()
    if leaderless:
        unread.leave_out(topic, leaderless, len(ranges) + len(leaderless))
    return ranges


def _from(part: LogRange, first_offset: int) -> LogRange:
    return part.within(first_offset, part.end_offset) if first_offset < part.end_offset else part
