"""Recovery: a slot of the state log is loaded from whatever a broker gives out as its records."""

import struct
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, Final

import google_crc32c

from kproxy.clients.log_lines import VALUE_CLASSES
from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable, CorruptStateRecord, MalformedMessage
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.ports import OnEarly, PartitionData, PartitionRead, TopicDescription
from kproxy.net.reading.partition_reader import _data
from kproxy.net.state_log.loading import ClaimedSlot, LoadedSlot, SlotLoading
from kproxy.net.state_log.log_scan import LogScan
from kproxy.net.state_log.partition_writer import ClaimedPartition
from kproxy.net.state_log.producer_identities import ProducerIdentity
from kproxy.net.state_log.state_topics import SlotTopics
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.identifiers import TopicId
from kproxy.share.limits import GroupLimits, ShareLimits
from kproxy.share.share_partition import SharePartition
from kproxy.statelog.actors import ACTOR_HEADER, decode_actor
from kproxy.statelog.claims import CLAIM_HEADER, STATE_FORMAT_VERSION, Claim
from kproxy.statelog.group_records import encode_group_record
from kproxy.statelog.log_messages import encode_key, encode_value
from kproxy.statelog.share_coordinator import CoordinatorLimits
from kproxy.statelog.state_log_fold import Outcome
from kproxy.statelog.state_records import encode_state_record
from kproxy.wire.messages import fetch_response
from kproxy.wire.record_batch_builder import build_batch
from kproxy.wire.record_batches import HEADER_BYTES, walk_extents
from kproxy.wire.record_times import time_of_first_record
from kproxy.wire.records import Record, decode_records
from tests.fuzz.execution import Seed, Target
from tests.fuzz.filled_messages import RECORDS, filled
from tests.fuzz.parts import of_parts, parts_of
from tests.fuzz.sockets import lasting_loop
from tests.in_memory.written_log import a_claim, a_snapshot, a_tombstone, an_update

STATES: Final = TopicDescription(TopicId(b"topic-id-states."), "__kproxy_share_state", 2)
GROUPS: Final = TopicDescription(TopicId(b"topic-id-groups."), "__kproxy_share_groups", 2)
TOPICS: Final = SlotTopics(STATES, GROUPS, 1 << 20)
MOST_READS: Final = 64
"""Each read goes on behind the one before it, and a log of a few kilobytes has few batches."""

_IN_STATE, _IN_GROUPS = range(2)
_HAS_CLAIM_HEADER, _HAS_ACTOR, _IS_TOMBSTONE, _HAS_ODD_HEADER = 2, 4, 8, 16
_RECORD_HEAD: Final = struct.Struct(">bB")
_CRC_AT: Final = 17
_COVERED_AT: Final = 21


class NoProgress(AssertionError):
    """A log of a few records is read without end."""


class _OneLog:
    """A `PartitionReader` that gives out the same bytes, wherever a read begins."""

    def __init__(self, logs: dict[TopicId, bytes], high_watermark: int) -> None:
        self._logs = logs
        self._high_watermark = high_watermark
        self._read_count = 0

    async def read(
        self,
        reads: Sequence[PartitionRead],
        *,
        max_bytes: int,  # noqa: ARG002 - as the port has it
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        on_early: OnEarly | None = None,  # noqa: ARG002
    ) -> Sequence[PartitionData]:
        self._read_count += 1
        if self._read_count > MOST_READS:
            raise NoProgress(f"read {self._read_count} times")
        answered = fetch_response.PartitionData(
            error_code=ErrorCode.NONE,
            high_watermark=self._high_watermark,
            records=self._logs[reads[0].topic_id],
        )
        return [_data(answered, isolation, where="a fuzzed log")]

    async def find_offset(self, topic_id: TopicId, partition: int, timestamp: int) -> int:  # noqa: ARG002
        return 0


def load_a_slot(data: bytes) -> None:
    """Parts that are records of either partition of a slot: two flags, the key's length, key and value."""
    records: tuple[list[Record], list[Record]] = ([], [])
    for number, part in parts_of(data):
        of_topic = records[number & 1]
        of_topic.append(_record_of(number, part, len(of_topic)))
    claim = Claim("kproxy", STATE_FORMAT_VERSION)
    records[_IN_STATE].append(encode_state_record(claim, claim_epoch=None, actors=()))
    records[_IN_GROUPS].append(encode_group_record(claim, claim_epoch=None))
    claimed = ClaimedSlot(
        0,
        *(
            _claimed(topic, len(of_topic) - 1)
            for topic, of_topic in zip((STATES, GROUPS), records, strict=True)
        ),
    )
    reader = _OneLog({STATES.topic_id: _batch(records[0]), GROUPS.topic_id: _batch(records[1])}, 1 << 40)
    for on_corrupt in ("stop", "skip"):
        loading = SlotLoading(TOPICS, LogScan(reader), on_corrupt=on_corrupt, limits=CoordinatorLimits())
        loaded = _outcome(loading.load(claimed))
        if loaded is not None:
            _require_usable(loaded)


def scan_any_batches(data: bytes) -> None:
    """A byte of flags, one of the offset to begin at, one of the last, and batches as a broker may send them."""
    if len(data) < 3:
        return
    batches = _with_true_checksums(data[3:]) if data[0] & 1 else data[3:]
    taken: list[int] = []

    def take(record: Record) -> Outcome:
        for name, value in record.headers:
            if name == ACTOR_HEADER:
                _allowing(lambda value=value: decode_actor(value), CorruptStateRecord)  # type: ignore[misc]
        taken.append(record.offset)
        return Outcome.APPLIED

    reader = _OneLog({STATES.topic_id: batches}, data[2] + 1)
    read = LogScan(reader).look if data[0] & 2 else LogScan(reader).read
    _outcome(read(STATES, 0, first_offset=data[1], last_offset=data[2], take=take))
    assert taken == sorted(set(taken))
    assert all(data[1] <= offset <= data[2] for offset in taken)
    _allowing(lambda: decode_records(memoryview(batches)), MalformedMessage)
    _allowing(lambda: time_of_first_record(memoryview(batches), data[1]), MalformedMessage)


def _record_of(number: int, part: bytes, offset: int) -> Record:
    claim_epoch, key_size = _RECORD_HEAD.unpack_from(part.ljust(2, b"\0"))
    key, value = part[2 : 2 + key_size], part[2 + key_size :]
    headers: list[tuple[str, bytes | None]] = []
    if number & _HAS_CLAIM_HEADER:
        headers.append((CLAIM_HEADER, struct.pack(">q", claim_epoch)))
    if number & _HAS_ACTOR:
        headers.append((ACTOR_HEADER, value))
    if number & _HAS_ODD_HEADER:
        headers.append((CLAIM_HEADER, value[:9] or None))
    return Record(key, None if number & _IS_TOMBSTONE else value, tuple(headers), offset=offset)


def _batch(records: list[Record]) -> bytes:
    return build_batch(records, producer_id=1, producer_epoch=0, base_sequence=0, timestamp_ms=0)


def _claimed(topic: TopicDescription, claim_epoch: int) -> ClaimedPartition:
    return ClaimedPartition(topic, 0, ProducerIdentity(1, 0), claim_epoch)


def _require_usable(loaded: LoadedSlot) -> None:
    """What was loaded is served from: every group, and every share-partition."""
    loaded.first_writes()
    coordinator = GroupCoordinator()
    for image in loaded.images.values():
        coordinator.restore(image, limits=GroupLimits(), now_ms=0)
        coordinator.describe(image.group_id)
    coordinator.assign(0)
    coordinator.expire_sessions(1 << 40)
    for key, state in loaded.fold.states.items():
        SharePartition(
            key,
            start_offset=max(state.start_offset, 0),
            state_batches=state.state_batches,
            limits=ShareLimits(),
        )


def _outcome(loading: Coroutine[Any, Any, Any]) -> Any:
    """Return what `loading` returns; None where it refuses. Nothing else may be raised."""
    try:
        return lasting_loop().run(loading)
    except (CorruptStateRecord, BrokerUnavailable):
        return None


def _allowing(function: Callable[[], object], refusal: type[Exception]) -> None:
    try:
        function()
    except refusal:
        return


def _with_true_checksums(batches: bytes) -> bytes:
    """Return `batches` as if whoever wrote them had meant it: without this no mutation came past the checksum."""
    mended = bytearray(batches)
    try:
        for extent in walk_extents(memoryview(batches)):
            end = extent.position + extent.size_bytes
            crc = google_crc32c.value(bytes(mended[extent.position + _COVERED_AT : end]))
            mended[extent.position + _CRC_AT : extent.position + _COVERED_AT] = crc.to_bytes(4)
    except MalformedMessage:
        pass
    return bytes(mended)


def _record_seeds() -> Iterator[Seed]:
    log = []
    for key_class, value_class in VALUE_CLASSES.items():
        is_of_state = key_class.__name__.startswith(("ShareSnapshot", "ShareUpdate"))
        key, value = encode_key(filled(key_class, 0)), encode_value(filled(value_class, 0))
        number = (_IN_STATE if is_of_state else _IN_GROUPS) | _HAS_CLAIM_HEADER
        part = (number, _RECORD_HEAD.pack(0, len(key)) + key + value)
        claim = (number & 1, _claim_part(number & 1))
        log.append(part)
        yield Seed(key_class.__name__, of_parts([claim, part]))
        yield Seed(
            f"{key_class.__name__}, removed", of_parts([claim, part, (number | _IS_TOMBSTONE, part[1])])
        )
    yield Seed("all", of_parts([(0, _claim_part(0)), (1, _claim_part(1)), *log]))
    written = [a_snapshot(), an_update(), an_update(), a_tombstone()]
    parts = [
        (_HAS_CLAIM_HEADER | (0 if record.value is not None else _IS_TOMBSTONE), _part_of(record))
        for record in written
    ]
    yield Seed("a life", of_parts([(0, _claim_part(0)), *parts]))


def _claim_part(number: int) -> bytes:
    claim = Claim("kproxy", STATE_FORMAT_VERSION)
    record = (
        encode_group_record(claim, claim_epoch=None)
        if number
        else encode_state_record(claim, claim_epoch=None, actors=())
    )
    return _part_of(record)


def _part_of(record: Record) -> bytes:
    key = record.key or b""
    return _RECORD_HEAD.pack(0, len(key)) + key + (record.value or b"")


def _batch_seeds() -> Iterator[Seed]:
    written = build_batch(
        [a_claim(), a_snapshot(), an_update(), a_tombstone()],
        producer_id=1, producer_epoch=0, base_sequence=0, timestamp_ms=0,
    )  # fmt: skip
    second = (4).to_bytes(8) + written[8:]
    for flags in range(4):
        yield Seed(f"written by kproxy, {flags}", bytes([flags, 0, 3]) + written)
        yield Seed(f"two batches, {flags}", bytes([flags, 1, 7]) + written + second)
        yield Seed(f"without records, {flags}", bytes([flags, 0, 1]) + written[:HEADER_BYTES])
        yield Seed(f"below the offset asked for, {flags}", bytes([flags, 10, 20]) + written)
        yield Seed(f"of a client, {flags}", bytes([flags, 0, 1]) + RECORDS)


TARGETS: Final = (
    Target("slots", load_a_slot, _record_seeds, executions=4_000, allowance_bytes=256 * 1024),
    Target("log-batches", scan_any_batches, _batch_seeds, executions=6_000),
)
