"""Reading a log partition from one offset to another, both inclusive, record by record."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable, CorruptStateRecord
from kproxy.handlers.live.pauses import MOST_AT_ONCE
from kproxy.handlers.ports import PartitionData, PartitionRead, Throttle, TopicDescription
from kproxy.net.state_log import log_scan
from kproxy.net.state_log.log_scan import LogScan, LogTruncated
from kproxy.statelog.state_log_fold import Outcome
from kproxy.wire.records import Record
from tests.in_memory.scripted_partition_reader import InMemoryLog, ScriptedPartitionReader
from tests.worlds.state_logs import STATE, STATE_ID, alarms

TOPIC = TopicDescription(STATE_ID, STATE, 1)


class Reading:
    """A loader over a log in memory, and what it gave."""

    def __init__(self) -> None:
        self.reader = ScriptedPartitionReader()
        self.log: InMemoryLog = self.reader.log(STATE_ID, 0)
        self.taken: list[Record] = []
        self.outcomes: dict[int, Outcome] = {}

    def take(self, record: Record) -> Outcome:
        """Keep a record."""
        self.taken.append(record)
        return self.outcomes.get(record.offset, Outcome.APPLIED)

    async def read(
        self, first_offset: int, last_offset: int, take: Callable[[Record], Outcome] | None = None
    ) -> int:
        """Read, and return how many records there were."""
        return await LogScan(self.reader).read(
            TOPIC, 0, first_offset=first_offset, last_offset=last_offset, take=take or self.take
        )

    @property
    def offsets(self) -> list[int]:
        """The offsets of the records taken."""
        return [record.offset for record in self.taken]


def of(coroutine: Coroutine[object, object, int]) -> int:
    """Return what `coroutine` returns."""
    return asyncio.run(coroutine)


def reading(*batches: int) -> Reading:
    """Return a log of batches with so many records each."""
    prepared = Reading()
    for size in batches:
        prepared.log.append([b"value"] * size)
    return prepared


class ReaderOfTheBeginning(ScriptedPartitionReader):
    """A broker that answers every read with the beginning of its log, twice at most."""

    def __init__(self) -> None:
        super().__init__()
        self.answers_left = 2

    async def read(self, reads: Sequence[PartitionRead], **how: Any) -> Sequence[PartitionData]:
        self.answers_left -= 1
        assert self.answers_left >= 0, "the same is read again and again"
        return await super().read([replace(each, offset=0) for each in reads], **how)


@pytest.mark.parametrize("read", [LogScan.read, LogScan.look])
def test_an_answer_that_ends_below_what_was_asked_for_is_not_asked_for_again_without_end(
    read: Callable[..., Coroutine[object, object, int]],
) -> None:
    # Given
    log = Reading()
    log.reader = ReaderOfTheBeginning()
    log.reader.log(STATE_ID, 0).append([b"value"] * 3)
    log.reader.log(STATE_ID, 0).append_gap(3)

    # When
    reads = read(LogScan(log.reader), TOPIC, 0, first_offset=4, last_offset=5, take=log.take)

    # Then
    with pytest.raises(BrokerUnavailable, match="at offset 4: no batch that reaches it was sent"):
        of(reads)


def test_a_read_that_quotas_hold_back_is_made_again_when_the_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To load a slot again from its beginning would exceed them again, and never come to an end."""
    # Given
    monkeypatch.setattr(log_scan, "BYTES_PER_READ", 1)
    log = reading(2, 3)
    throttles = [None, Throttle(1, is_new=True), Throttle(1, is_new=False), None]

    async def held_back_at_times() -> None:
        log.reader.throttle = throttles.pop(0)

    log.reader.before_read = held_back_at_times

    # When
    of(log.read(0, 4))

    # Then
    assert log.offsets == [0, 1, 2, 3, 4]
    assert [read.offset for read in log.reader.reads] == [0, 2, 2, 2]


@pytest.mark.parametrize(
    ("first_offset", "last_offset", "expected"),
    [(0, 5, [0, 1, 2, 3, 4, 5]), (1, 4, [1, 2, 3, 4]), (3, 3, [3]), (4, 3, [])],
)
def test_records_are_given_from_the_first_to_the_last_offset_wherever_batches_begin_and_end(
    first_offset: int, last_offset: int, expected: list[int]
) -> None:
    # Given
    log = reading(2, 3, 2)

    # When
    count = of(log.read(first_offset, last_offset))

    # Then
    assert log.offsets == expected
    assert count == len(expected)


def test_a_long_log_is_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    monkeypatch.setattr(log_scan, "BYTES_PER_READ", 100)
    log = reading(*[1] * 20)

    # When
    of(log.read(0, 19))

    # Then
    assert log.offsets == list(range(20))
    assert len(log.reader.reads) > 5


def test_what_was_read_is_taken_in_with_turns_for_others_in_between() -> None:
    # Given
    prepared, turns_at_record = reading(3 * MOST_AT_ONCE), list[int]()
    turn = 0

    async def scene() -> int:
        async def count_turns() -> None:
            nonlocal turn
            while True:
                turn += 1
                await asyncio.sleep(0)

        def take(_record: Record) -> Outcome:
            turns_at_record.append(turn)
            return Outcome.APPLIED

        async with asyncio.TaskGroup() as tasks:
            counting = tasks.create_task(count_turns())
            count = await prepared.read(0, 3 * MOST_AT_ONCE - 1, take)
            counting.cancel()
        return count

    # When
    count = of(scene())

    # Then
    assert count == len(turns_at_record) == 3 * MOST_AT_ONCE
    assert max(Counter(turns_at_record).values()) <= MOST_AT_ONCE


def test_holes_that_compaction_left_are_passed_over() -> None:
    # Given
    log = reading(1)
    log.log.append_gap(5)
    log.log.append([b"value"])

    # When
    of(log.read(0, 6))

    # Then
    assert log.offsets == [0, 6]


def test_progress_of_a_very_long_log_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # Given
    monkeypatch.setattr(log_scan, "RECORDS_PER_PROGRESS_LINE", 10)
    caplog.set_level("INFO")
    log = reading(25)

    # When
    of(log.read(0, 24))

    # Then
    assert [record.msg for record in caplog.records] == ["slot_loading"]


def test_a_record_that_is_passed_over_as_corrupt_is_named(caplog: pytest.LogCaptureFixture) -> None:
    # Given
    log = reading(3)
    log.outcomes[1] = Outcome.SKIPPED_CORRUPT

    # When
    of(log.read(0, 2))

    # Then
    (line,) = alarms(caplog)
    assert line.msg == "corrupt_record_skipped"
    assert getattr(line, "event_keys", {}) == {"partition": f"{STATE}-0", "offset": 1}


def test_a_record_that_cannot_be_taken_is_named_with_its_partition() -> None:
    # Given
    def refuse(record: Record) -> Outcome:
        raise CorruptStateRecord("impossible", offset=record.offset)

    # When / Then
    with pytest.raises(CorruptStateRecord, match=f"^{STATE}-0: offset 2: impossible$"):
        of(reading(2, 2).read(2, 3, refuse))


def test_bytes_that_are_no_records_are_named_with_their_partition() -> None:
    # Given
    log = reading(1)
    batch = log.log.batches[0]
    damaged = batch.encoded[:-1] + bytes([batch.encoded[-1] ^ 1])
    log.log.batches[0] = type(batch)(0, 0, 0, damaged)

    # When / Then
    with pytest.raises(CorruptStateRecord, match=f"^{STATE}-0: .*offset 0"):
        of(log.read(0, 0))


def test_a_log_that_begins_later_is_truncated() -> None:
    # Given
    log = reading(2, 2)
    log.log.move_start(2)

    # When / Then
    with pytest.raises(LogTruncated, match=f"{STATE}-0 at offset 1: the log has offsets 2 to 3"):
        of(log.read(1, 3))


def test_a_log_that_ends_earlier_is_truncated() -> None:
    with pytest.raises(LogTruncated, match="the log has offsets 0 to 1"):
        of(reading(2).read(5, 7))


def test_a_leader_that_is_behind_is_asked_again_later() -> None:
    # Given
    log = reading(2, 1)
    log.log.held_high_watermark = 2

    # When / Then
    with pytest.raises(BrokerUnavailable, match="the log ends at 2 so far, not above 2") as failure:
        of(log.read(2, 2))
    assert not isinstance(failure.value, LogTruncated)


def test_an_empty_read_where_records_should_be_does_not_go_on_for_ever() -> None:
    # Given
    log = reading(1)
    log.log.append_gap(2)

    # When / Then
    with pytest.raises(BrokerUnavailable, match="at offset 1: an empty read below the high watermark"):
        of(log.read(0, 1))


@pytest.mark.parametrize(
    "error_code", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.TOPIC_AUTHORIZATION_FAILED]
)
def test_a_leader_that_refuses_is_named_with_the_reason(error_code: ErrorCode) -> None:
    # Given
    log = reading(1)
    log.reader.fail(STATE_ID, 0, error_code)

    # When / Then
    with pytest.raises(BrokerUnavailable, match=f"{STATE}-0 at offset 0 cannot be read: {error_code.name}"):
        of(log.read(0, 0))


def test_to_who_only_looks_a_leader_that_calls_its_log_corrupt_is_one_that_cannot_be_read() -> None:
    """It may say so once, of a read that failed; what is wrong with the log, loading says."""
    # Given
    log = reading(1)
    log.reader.fail(STATE_ID, 0, ErrorCode.CORRUPT_MESSAGE)

    # When / Then
    with pytest.raises(BrokerUnavailable, match=f"{STATE}-0 at offset 0: CORRUPT_MESSAGE"):
        of(LogScan(log.reader).look(TOPIC, 0, first_offset=0, last_offset=0, take=log.take))


def test_who_only_looks_sees_what_can_be_decoded() -> None:
    # Given
    log = reading(1, 1, 1)
    damaged = log.log.batches[1]
    log.log.batches[1] = replace(damaged, encoded=damaged.encoded[:-1] + b"?")

    # When
    of(LogScan(log.reader).look(TOPIC, 0, first_offset=0, last_offset=2, take=log.take))

    # Then
    assert log.offsets == [0, 2]


def test_a_batch_that_is_there_twice_beside_damaged_ones_is_seen_once() -> None:
    # Given
    log = reading(2, 1, 2, 1)
    _, damaged, repeated, last = log.log.batches
    log.log.batches[1] = replace(damaged, encoded=damaged.encoded[:-1] + b"?")
    log.log.batches[3] = replace(last, encoded=repeated.encoded + last.encoded)

    # When
    of(LogScan(log.reader).look(TOPIC, 0, first_offset=0, last_offset=5, take=log.take))

    # Then
    assert log.offsets == [0, 1, 3, 4, 5]


def test_before_bytes_that_nobody_can_frame_all_is_read_that_can_be() -> None:
    # Given
    log = reading(1, 1)
    damaged = log.log.batches[1]
    log.log.batches[1] = replace(damaged, encoded=damaged.encoded[:16] + b"\1" + damaged.encoded[17:])

    # When
    with pytest.raises(BrokerUnavailable, match=f"{STATE}-0.*magic 1"):
        of(LogScan(log.reader).look(TOPIC, 0, first_offset=0, last_offset=1, take=log.take))

    # Then
    assert log.offsets == [0]


def test_batches_that_no_reader_can_frame_are_corrupt() -> None:
    # Given
    log = reading(1)
    log.reader.fail(STATE_ID, 0, ErrorCode.CORRUPT_MESSAGE)

    # When / Then
    with pytest.raises(CorruptStateRecord, match=f"{STATE}-0 at offset 0: CORRUPT_MESSAGE"):
        of(log.read(0, 0))


def test_the_log_begins_at_its_first_record_and_ends_behind_the_last_durable_one() -> None:
    # Given
    log = reading(2, 2, 1)
    log.log.move_start(2)
    log.log.held_high_watermark = 4
    loader = LogScan(log.reader)

    # When / Then
    assert of(loader.log_start(TOPIC, 0)) == 2
    assert of(loader.log_end(TOPIC, 0)) == 4
