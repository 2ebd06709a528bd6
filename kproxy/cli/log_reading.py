"""Reading the topics of the state log in the backing cluster: some of it, or all of a log that is small."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from kproxy.cli.backing_cluster import BackingCluster
from kproxy.cli.exit_codes import CommandFailed, ExitCode
from kproxy.cli.progress import progress
from kproxy.clients.failures import TopicNotThere
from kproxy.clients.log_ranges import LogRange
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
) -> Iterator[tuple[int, "Record"]]:
    """Yield all records of a topic with the number of their log partition, partition after partition.

    Those of a log partition that `starts` has an offset of begin there, unless it has lost all from there on.
    Raises CommandFailed before anything is read when there may be more than `most`; `instead` is the command that
    answers the question all the same.
    """
    ranges = [_from(part, starts.get(part.partition, part.first_offset)) for part in reader.ranges()]
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


def _from(part: LogRange, first_offset: int) -> LogRange:
    return part.within(first_offset, part.end_offset) if first_offset < part.end_offset else part
