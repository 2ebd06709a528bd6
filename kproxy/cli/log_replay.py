"""A log that is small, replayed in this process: questions hear its rows, as the fold of recovery tells them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

import click

from kproxy.cli.backing_cluster import BackingCluster
from kproxy.cli.exit_codes import CommandFailed, ExitCode
from kproxy.cli.known_names import PARTITION_HELP, group_names, topic_names
from kproxy.cli.log_reading import Unread, all_of, opened
from kproxy.clients.failures import ClientFailed, NotThere
from kproxy.clients.log_ranges import Leaderless, leaderless_text
from kproxy.wording import counted

if TYPE_CHECKING:
    from kproxy.clients.history.selection import Selected
    from kproxy.clients.history.silver_rows import SilverRow
    from kproxy.clients.history.stuck import Stuck
    from kproxy.clients.log_ranges import PartitionEnd
    from kproxy.clients.topic_reader import TopicReader
    from kproxy.share.identifiers import SharePartitionKey
    from kproxy.statelog.durable_state import DurableShareState

F = TypeVar("F", bound=Callable[..., object])


class Taking(Protocol):
    """A question to a log, which hears its rows in order."""

    def take(self, row: "SilverRow") -> None:
        """Hear the next one."""
        ...


@dataclass(frozen=True, slots=True)
class AskedPart:
    """The part of a log that is asked about, with the names of topics, and what of these could not be read."""

    selected: "Selected"
    unread_names: Unread


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a log led to, how many of its records could not be used, and what of it could not be read."""

    states: "Mapping[SharePartitionKey, DurableShareState]"
    unusable_count: int
    unread: Unread


def with_selection(command: F) -> F:
    """Give `command` the options that name a part of a log: group, topic and partition."""
    group = click.option(
        "-g", "--group", metavar="GROUP", shell_complete=group_names, help="Of this group only."
    )
    topic = click.option(
        "-t",
        "--topic",
        metavar="TOPIC",
        shell_complete=topic_names,
        help="Of this topic only: its name, or its id.",
    )
    partition = click.option(
        "-p", "--partition", metavar="NUMBER", type=click.IntRange(0, 2**31 - 1), help=PARTITION_HELP
    )
    return group(topic(partition(command)))


def selected_part(
    cluster: BackingCluster, group: str | None, topic: str | None, partition: int | None, instead: str
) -> AskedPart:
    """Return the part of the log that is asked about.

    Names that only partitions of the groups topic without a leader have are left out, with a warning.
    """
    from kproxy.clients.history.selection import Selected

    unread = Unread()
    return AskedPart(Selected(group, topic, partition, _names_of_topics(cluster, instead, unread)), unread)


def _names_of_topics(cluster: BackingCluster, instead: str, unread: Unread) -> Mapping[str, str]:
    """Return the names of consumed topics by id, as the groups topic has them; none where there is no such topic."""
    from kproxy.clients.history.topic_names import names_of

    name = cluster.settings.groups_topic_name
    names: dict[str, str] = {}
    try:
        with opened(cluster, name) as reader:
            for _, record in all_of(reader, name, instead=instead, unread=unread):
                names.update(names_of(record))
    except CommandFailed as failure:
        if failure.exit_code != ExitCode.NOT_FOUND:
            raise
        return {}
    return names


def replay_log(
    reader: "TopicReader", topic: str, question: Taking, instead: str, *, group: str | None = None
) -> Replayed:
    """Let a question, about one `group` or all, hear all of a log, as the same fold tells it that recovery runs.

    Partitions without a leader are left out. Raises CommandFailed, ClientFailed.
    """
    from kproxy.clients.history.silver_rows import CORRUPT, SilverWriter

    writers: dict[int, SilverWriter] = {}
    unusable_count = 0
    unread = Unread(group)
    for number, record in all_of(reader, topic, instead=instead, unread=unread):
        writer = writers.setdefault(number, SilverWriter(number))
        rows = writer.rows(record)
        unusable_count += rows[0].get("outcome") == CORRUPT
        for row in rows:
            question.take(row)
    states = {key: state for writer in writers.values() for key, state in writer.fold.states.items()}
    return Replayed(states, unusable_count, unread)


def ends_of_topics(
    reader: "TopicReader", part: AskedPart, earlier_ms: int, unread: Unread
) -> "Mapping[tuple[str, int], PartitionEnd]":
    """Return where topics, by id, end now and ended at `earlier_ms`; none, noted by `unread`, if nobody says."""
    try:
        return reader.topic_ends(part.selected.names, earlier_ms=earlier_ms)
    except ClientFailed as failure:
        unread.leave_out_for(f"no-progress is not told, for topics do not say where they end: {failure}")
        return {}


def leave_out_unknown_ends(question: "Stuck", part: AskedPart, unread: Unread) -> None:
    """Take note of queues that may stand still unseen, for nobody says where their topics end, and warn."""
    leaderless: dict[str, list[Leaderless]] = {}
    nameless = set()
    for (topic_id, _), found in sorted(question.unknown_ends.items(), key=lambda each: each[0]):
        if found is None:
            nameless.add(topic_id)
        else:
            leaderless.setdefault(part.selected.names[topic_id], []).append(found)
    for topic, partitions in leaderless.items():
        unread.partitions[topic] = partitions
        click.echo(f"Warning: no-progress is not told of {topic}: {leaderless_text(partitions)}", err=True)
    if nameless and part.unread_names.partitions:
        unread.partitions.update(part.unread_names.partitions)
        topics = counted(len(nameless), "topic")
        click.echo(f"Warning: no-progress is not told of {topics} whose name could not be read", err=True)


@contextmanager
def absent_only_if_all_was_read(part: AskedPart, replayed: Replayed) -> Iterator[None]:
    """Raise CommandFailed, as `fail_if_in_part` does, in place of NotThere: a name may be in what was not read."""
    try:
        yield
    except NotThere:
        fail_if_in_part(replayed)
        if part.selected.topic is not None:
            part.unread_names.fail_if_any()
        raise


def fail_if_in_part(replayed: Replayed) -> None:
    """Raise CommandFailed for an answer that lacks what could not be read."""
    replayed.unread.fail_if_any()


def warn_of_unusable(replayed: Replayed) -> None:
    """Say on standard error if there are records that cannot be used."""
    if replayed.unusable_count:
        number = counted(replayed.unusable_count, "record")
        click.echo(f"Warning: {number} of the log cannot be used: kproxy log dump shows them", err=True)


def servers_text(cluster: BackingCluster) -> str:
    """Return the servers of the cluster, as `-b` takes them."""
    return ",".join(map(str, cluster.settings.bootstrap_servers))
