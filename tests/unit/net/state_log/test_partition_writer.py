"""One writer, one append at a time, and the first thing that is not as it had to be ends it."""

import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import StateLogUnavailable, StateNotWritten
from kproxy.net.state_log import partition_writer
from kproxy.net.state_log.partition_writer import Doubt
from kproxy.statelog.state_queue import StateQueue
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.records import Record
from tests.in_memory.scripted_state_log import Fate
from tests.worlds.state_logs import NOW_MS, STATE, acknowledged, alarms, state_log
from tests.worlds.waiting import until
from tests.worlds.written_partition import BEGINNING, KEY, OTHER_BEGINNING, Written


async def test_what_is_submitted_in_one_turn_becomes_durable_in_one_append_which_is_counted(
    written: Written,
) -> None:
    # When
    tickets = await written.settled(BEGINNING, OTHER_BEGINNING)

    # Then
    assert [ticket.refusal for ticket in tickets] == [None, None]
    assert written.cluster.produced() == [[(STATE, 0)]]
    assert [record.offset for record in written.cluster.records(state_log())] == [0, 1, 2]
    assert written.commit.fold.applied_offset == 2
    counts = written.backing.measured.counts
    assert counts["statelog_records", STATE] == 2
    assert counts["statelog_bytes", STATE] > 200
    assert [name for name, _ in written.backing.measured.observations] == ["statelog_append_seconds"]


async def test_one_append_is_in_flight_and_what_comes_meanwhile_makes_the_next(written: Written) -> None:
    # Given
    await written.settled(BEGINNING)
    written.cluster.may_land.clear()
    first = written.submit(acknowledged(KEY, 0, 4))
    await written.cluster.brokers[1].until_asked(ApiKey.PRODUCE, 2)

    # When
    others = [written.submit(acknowledged(KEY, offset, offset)) for offset in range(5, 10)]
    written.cluster.may_land.set()
    await until(lambda: all(ticket.is_done for ticket in (first, *others)))

    # Then
    assert len(written.cluster.asked(ApiKey.PRODUCE)) == 3
    assert written.values == 3


@pytest.mark.parametrize(
    "error_code",
    [
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ],
)
async def test_what_a_leader_says_instead_of_an_offset_leaves_the_outcome_unknown(
    error_code: ErrorCode, written: Written
) -> None:
    # Given
    written.cluster.refuse_append(state_log(), error_code)

    # When
    ticket = written.submit(BEGINNING)
    doubt, detail = await written.doubt()

    # Then
    assert doubt is Doubt.UNKNOWN_OUTCOME
    assert f"{STATE}-0 at " in detail
    assert error_code.name in detail
    assert not ticket.is_done, "its owner decides what the queue is told"


@pytest.mark.parametrize(
    "fate", [Fate.LOST, Fate.LANDS_UNANSWERED, Fate.LATE], ids=lambda fate: str(fate.value)
)
async def test_an_answer_that_never_came_leaves_the_outcome_unknown(fate: Fate, written: Written) -> None:
    # Given
    written.cluster.decree(fate)

    # When
    written.submit(BEGINNING)

    # Then
    assert (await written.doubt())[0] is Doubt.UNKNOWN_OUTCOME


@pytest.mark.parametrize("error_code", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED])
async def test_a_refused_epoch_says_that_somebody_else_writes_here_now(
    error_code: ErrorCode, written: Written
) -> None:
    # Given
    written.cluster.refuse_append(state_log(), error_code)

    # When
    written.submit(BEGINNING)

    # Then
    doubt, _ = await written.doubt()
    assert doubt is Doubt.FENCED


async def test_landing_behind_the_expected_offset_says_that_somebody_else_wrote(written: Written) -> None:
    # Given
    written.cluster.write_foreign(state_log(), Record(b"key", b"foreign"))

    # When
    ticket = written.submit(BEGINNING)
    doubt, detail = await written.doubt()

    # Then
    assert (doubt, detail) == (
        Doubt.FOREIGN_WRITE,
        f"{STATE}-0: an append landed at offset 2, not 1",
    )
    assert not ticket.is_done
    assert KEY not in written.commit.fold.states


async def test_landing_before_the_expected_offset_says_that_the_log_was_truncated(written: Written) -> None:
    # Given
    await written.settled(BEGINNING)
    written.cluster.truncate(state_log(), 1)

    # When
    written.submit(OTHER_BEGINNING)

    # Then
    doubt, detail = await written.doubt()
    assert (doubt, detail) == (Doubt.TRUNCATED, f"{STATE}-0: an append landed at offset 1, not 2")


@pytest.mark.parametrize("jump_ms", [5 * 3_600_000, -5 * 3_600_000])
async def test_an_append_lands_although_the_clock_jumped_to_where_the_leader_takes_no_dates(
    written: Written, jump_ms: int
) -> None:
    """Brokers take no date an hour after theirs, since Kafka 4.0 by default; no acknowledgement waits for that."""
    # Given
    await written.settled(BEGINNING)
    written.cluster.latest_date_ms = NOW_MS + 3_600_000
    written.backing.wall_clock.advance(jump_ms)

    # When
    tickets = await written.settled(acknowledged(KEY, 0, 4), acknowledged(KEY, 5, 9))

    # Then
    assert [ticket.refusal for ticket in tickets] == [None, None]
    assert written.doubts == []
    dates_ms = [record.timestamp_ms for record in written.cluster.records(state_log())][2:]
    assert all(date_ms <= NOW_MS + 3_600_000 for date_ms in dates_ms)


async def test_after_a_doubt_nothing_more_is_sent(written: Written) -> None:
    # Given
    written.cluster.refuse_append(state_log(), ErrorCode.REQUEST_TIMED_OUT)
    written.submit(BEGINNING)
    await written.doubt()

    # When
    written.submit(OTHER_BEGINNING)
    await asyncio.sleep(0)

    # Then
    assert len(written.cluster.asked(ApiKey.PRODUCE)) == 1


async def test_a_writer_that_is_ended_before_its_turn_sends_nothing(written: Written) -> None:
    # Given
    ticket = written.submit(BEGINNING)

    # When
    written.writer.end()
    await written.backing.reader.find_offset(state_log().topic_id, 0, -1)

    # Then
    assert written.cluster.produced() == []
    assert not ticket.is_done


async def test_what_is_under_way_when_the_writer_is_ended_is_not_taken_in(written: Written) -> None:
    # Given
    written.cluster.may_land.clear()
    ticket = written.submit(BEGINNING)
    await written.cluster.brokers[1].until_asked(ApiKey.PRODUCE)

    # When
    written.writer.end()
    written.cluster.may_land.set()
    await until(lambda: written.values == 1)
    await written.backing.reader.find_offset(state_log().topic_id, 0, -1)

    # Then
    assert not ticket.is_done
    assert written.doubts == []
    assert written.commit.fold.applied_offset == 0


async def test_an_append_that_cannot_be_taken_in_is_read_from_the_log_instead(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, written: Written
) -> None:
    # Given
    def broken(_: StateQueue, __: int) -> None:
        raise RuntimeError("a fault of kproxy itself")

    monkeypatch.setattr(StateQueue, "succeeded", broken)

    # When
    written.submit(BEGINNING)

    # Then
    doubt, detail = await written.doubt()
    assert (doubt, detail) == (Doubt.UNKNOWN_OUTCOME, "RuntimeError when an append was taken in")
    assert "append_not_taken_in" in [record.msg for record in alarms(caplog)]


async def test_an_append_that_cannot_be_made_ends_the_writer_and_leaves_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, written: Written
) -> None:
    # Given
    def broken(*_: object, **__: object) -> bytes:
        raise RuntimeError("a fault of kproxy itself")

    monkeypatch.setattr(partition_writer, "build_batch", broken)

    # When
    ticket = written.submit(BEGINNING)

    # Then
    doubt, detail = await written.doubt()
    assert (doubt, detail) == (Doubt.UNKNOWN_OUTCOME, "RuntimeError when an append was made")
    written.commit.fail(StateLogUnavailable(detail))
    assert ticket.is_done
    assert "append_not_made" in [record.msg for record in alarms(caplog)]


async def test_a_fault_of_who_counts_appends_leaves_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, written: Written
) -> None:
    # Given
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a fault of kproxy itself")

    monkeypatch.setattr(written.backing.reports, "appended", broken)

    # When
    (first,) = await written.settled(BEGINNING)
    (second,) = await written.settled(acknowledged(KEY, 0, 4))

    # Then
    assert (first.refusal, second.refusal) == (None, None)
    assert written.doubts == []
    assert {record.msg for record in alarms(caplog)} == {"append_not_reported"}


async def test_a_fault_of_who_tells_of_refusals_leaves_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, written: Written
) -> None:
    # Given
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a fault of kproxy itself")

    monkeypatch.setattr(written.backing.reports, "refused", broken)
    written.cluster.refuse_append(state_log(), ErrorCode.MESSAGE_TOO_LARGE)

    # When
    (first,) = await written.settled(BEGINNING)
    (second,) = await written.settled(BEGINNING)

    # Then
    assert isinstance(first.refusal, StateNotWritten)
    assert second.refusal is None
    assert written.doubts == []
    assert {record.msg for record in alarms(caplog)} == {"append_not_reported"}
