"""What every `Backlogs` keeps to: run against the double and the scripted cluster."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

from kproxy.error_codes import ErrorCode
from kproxy.handlers.backlog import Backlog, BacklogQuestion, Backlogs
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.share.identifiers import TopicId
from kproxy.wire.record_times import RecordTime

GONE: Final = TopicId(b"topic-id-deleted")


class BacklogWorld(Protocol):
    """Something to ask, and a topic of three empty partitions."""

    backlogs: Backlogs
    topic_id: TopicId

    async def append(self, partition: int, values: Sequence[bytes], *, timestamp_ms: int = 1) -> None:
        """Append `values` as one batch."""
        ...

    async def move_start(self, partition: int, log_start_offset: int) -> None:
        """Delete the records below `log_start_offset`."""
        ...

    async def open_transaction(self, partition: int, first_offset: int) -> None:
        """Let the records from there on be of a transaction that has not ended."""
        ...


async def look(world: BacklogWorld, *asked: tuple[int, int | None]) -> Sequence[Backlog]:
    """Ask about (partition, first unfinished offset) pairs."""
    return await world.backlogs.look(
        [BacklogQuestion(world.topic_id, "orders", partition, first) for partition, first in asked]
    )


async def each_question_is_answered_in_its_place(world: BacklogWorld) -> None:
    await world.append(0, [b"a", b"b"], timestamp_ms=1_000)
    await world.append(2, [b"c"], timestamp_ms=2_000)
    assert await look(world, (2, 0), (1, 0), (0, 0)) == [
        Backlog(1, RecordTime(2_000, is_exact=True)),
        Backlog(0),
        Backlog(2, RecordTime(1_000, is_exact=True)),
    ]


async def the_oldest_record_is_the_first_that_is_not_finished(world: BacklogWorld) -> None:
    await world.append(0, [b"a"], timestamp_ms=1_000)
    await world.append(0, [b"b", b"c"], timestamp_ms=2_000)
    await world.append(0, [b"d"], timestamp_ms=3_000)
    assert await look(world, (0, 2)) == [Backlog(4, RecordTime(2_000, is_exact=True))]


async def where_all_is_finished_no_record_is_the_oldest(world: BacklogWorld) -> None:
    await world.append(0, [b"a"])
    assert await look(world, (0, 1)) == [Backlog(1)]


async def without_a_first_unfinished_offset_the_end_alone_is_told(world: BacklogWorld) -> None:
    await world.append(0, [b"a"])
    assert await look(world, (0, None)) == [Backlog(1)]


async def of_records_that_are_deleted_it_is_said(world: BacklogWorld) -> None:
    await world.append(0, [b"a"], timestamp_ms=1_000)
    await world.append(0, [b"b"], timestamp_ms=2_000)
    await world.move_start(0, 1)
    oldest = RecordTime(2_000, is_exact=True)
    assert await look(world, (0, 0)) == [Backlog(2, oldest, "the records below offset 1 are deleted")]


async def where_committed_records_end_is_told_to_who_asks_for_them(world: BacklogWorld) -> None:
    await world.append(0, [b"a", b"b", b"c"], timestamp_ms=1_000)
    await world.open_transaction(0, 1)
    questions = [
        BacklogQuestion(world.topic_id, "orders", 0, 0, IsolationLevel.READ_COMMITTED),
        BacklogQuestion(world.topic_id, "orders", 1, 0),
    ]
    oldest = RecordTime(1_000, is_exact=True)
    assert await world.backlogs.look(questions) == [Backlog(3, oldest, last_stable_offset=1), Backlog(0)]


async def of_a_topic_that_is_gone_nothing_is_known(world: BacklogWorld) -> None:
    answered = await world.backlogs.look([BacklogQuestion(GONE, "deleted", 0, 0)])
    reason = "the cluster has no topic with this id"
    assert answered == [Backlog(None, None, reason, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]


BACKLOG_CONTRACT: Final[tuple[Callable[[BacklogWorld], Awaitable[None]], ...]] = (
    each_question_is_answered_in_its_place,
    the_oldest_record_is_the_first_that_is_not_finished,
    where_all_is_finished_no_record_is_the_oldest,
    without_a_first_unfinished_offset_the_end_alone_is_told,
    of_records_that_are_deleted_it_is_said,
    where_committed_records_end_is_told_to_who_asks_for_them,
    of_a_topic_that_is_gone_nothing_is_known,
)
