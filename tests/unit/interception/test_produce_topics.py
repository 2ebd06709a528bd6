import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import PeerViolation
from kproxy.interception.produce_topics import MOST_IDLE, ProduceTopics
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kproxy.wire.varints import encode_varint
from tests.unit.wire.kafka_varints import expected, varints

STATE: Final = "__state"
STATE_ID: Final = b"id-of-the-state-"
OTHER_ID: Final = b"id-of-any-other-"
WANTED: Final = (STATE.encode(), STATE_ID)


def produce(
    version: int, *topics: str, records: bytes | None = b"r" * 100, transactional_id: str | None = "t"
) -> bytes:
    data = [
        TopicProduceData(
            name, STATE_ID if name == STATE else OTHER_ID, [PartitionProduceData(0, records)] * 2
        )
        for name in topics
    ]
    request = ProduceRequest(transactional_id, 1, 1000, data)
    return b"".join(codecs.encode_request(ApiKey.PRODUCE, version, 7, "client", request))


def is_found(version: int, frame: bytes, piece: int) -> bool:
    topics = ProduceTopics(version, WANTED)
    for begin in range(0, len(frame), piece):
        topics.feed(memoryview(frame)[begin : begin + piece])
    return topics.has_found


@pytest.mark.parametrize("version", range(3, 14))
@pytest.mark.parametrize("piece", [1, 7, 10_000])
def test_a_topic_is_found_wherever_it_stands_and_in_whatever_pieces(version: int, piece: int) -> None:
    assert is_found(version, produce(version, "orders", STATE, "payments"), piece)
    assert is_found(version, produce(version, STATE, transactional_id=None), piece)
    assert not is_found(version, produce(version, "orders", "payments", records=None), piece)


@pytest.mark.parametrize("version", [3, 8, 9, 12, 13])
def test_what_is_said_in_records_or_ids_of_clients_is_no_topic(version: int) -> None:
    frame = produce(version, "orders", records=b"".join(WANTED) * 9, transactional_id=STATE)
    assert not is_found(version, frame, 5)


def test_a_version_before_transactions_has_no_transactional_id() -> None:
    # Given: version 2, of which no codec is left: header, acks, timeout, one topic
    header = bytes((0, 0, 0, 2, 0, 0, 0, 7, 255, 255))
    frame = bytes(4) + header + bytes(6) + bytes((0, 0, 0, 1, 0, len(STATE))) + STATE.encode() + bytes(4)

    # When, then
    assert is_found(2, frame, 3)
    assert is_found(2, frame, len(frame))


@pytest.mark.parametrize("version", [8, 9])
def test_a_name_that_no_topic_has_is_stepped_over(version: int) -> None:
    assert not is_found(version, produce(version, "x" * 300, "orders"), 11)
    assert is_found(version, produce(version, "x" * 300, STATE), 11)


def test_records_pass_unseen_and_names_do_not() -> None:
    # Given
    frame = produce(9, "orders", STATE, records=b"r" * 10_000)
    topics = ProduceTopics(9, WANTED)
    assert not topics.passes(1_000)
    topics.feed(frame[:200])

    # When, then
    assert topics.passes(5_000)
    assert not topics.passes(5_000)
    assert not topics.has_found
    assert topics.feed(frame[5_200:])


def test_behind_the_last_topic_everything_passes() -> None:
    topics = ProduceTopics(9, WANTED)
    topics.feed(produce(9, "orders"))
    assert topics.passes(1 << 20)


def test_tags_are_stepped_over() -> None:
    # Given: one tag in the header, one in a partition and one in a topic
    head = bytes((0, 0, 0, 9, 0, 0, 0, 7, 255, 255)) + b"\x01\x00\x02ab"
    partition = bytes((0, 0, 0, 0)) + b"\x04rrr" + b"\x01\x05\x01x"
    topic = b"\x07orders" + b"\x02" + partition + b"\x01\x09\x81\x01" + b"y" * 129
    frame = (
        bytes(4) + head + b"\x00" + bytes(6) + b"\x03" + topic + b"\x08" + STATE.encode() + b"\x01\x00\x00"
    )

    # When, then
    assert is_found(9, frame, 1)
    assert is_found(9, frame, len(frame))


@pytest.mark.parametrize("version", [3, 9, 13])
def test_a_request_that_is_cut_off_names_nothing_that_is_not_there(version: int) -> None:
    frame = produce(version, "orders", "payments", STATE)
    for end in range(len(frame) - 300):
        assert not is_found(version, frame[:end], len(frame))


@given(
    version=st.integers(3, 13),
    topics=st.lists(st.sampled_from([STATE, "orders", "__stat", "__state_"]), max_size=5),
    records=st.binary(max_size=300),
    piece=st.integers(1, 400),
)
def test_it_says_what_a_decoder_says(version: int, topics: list[str], records: bytes, piece: int) -> None:
    frame = produce(version, *topics, records=records)
    assert is_found(version, frame, piece) is (STATE in topics)
    assert is_found(version, frame, len(frame)) is (STATE in topics)


@given(
    version=st.integers(3, 13),
    topics=st.lists(st.sampled_from([STATE, "orders", "__stat"]), max_size=5),
    records=st.binary(max_size=150),
    piece=st.integers(1, 400),
    most_steps=st.integers(1, 9),
)
def test_it_says_the_same_when_it_reads_a_few_fields_at_a_time(
    version: int, topics: list[str], records: bytes, piece: int, most_steps: int
) -> None:
    # Given
    frame = produce(version, *topics, records=records)
    search = ProduceTopics(version, WANTED)

    # When
    for begin in range(0, len(frame), piece):
        rest = frame[begin : begin + piece]
        while rest:
            search.feed(rest, most_steps)
            assert search.step_count <= most_steps
            assert search.unread_bytes <= len(rest)
            rest = rest[len(rest) - search.unread_bytes :]

    # Then
    assert search.has_found is (STATE in topics)


@given(st.binary(max_size=400), st.integers(0, 14), st.integers(1, 50))
def test_nonsense_does_no_harm(frame: bytes, version: int, piece: int) -> None:
    with suppress(PeerViolation):
        assert isinstance(is_found(version, frame, piece), bool)


HEADER: Final = bytes(4) + bytes((0, 0, 0, 9, 0, 0, 0, 7, 255, 255)) + b"\x00"
"""Of a flexible version, with its length."""


@given(varints, st.integers(1, 30))
def test_numbers_are_read_as_brokers_read_them_or_refused_in_whatever_pieces(
    varint: bytes, piece: int
) -> None:
    # Given: a transactional id of as many bytes as brokers read, or of more than there are
    read = expected(varint)
    length = max(read[0] - 1, 0) if read else 0
    is_short = length < 10_000
    named = b"\x02" + b"\x08" + STATE.encode() + b"\x01\x00\x00"
    encoded = varint[: read[1]] if read else varint
    frame = HEADER + encoded + b"t" * (length if is_short else 0) + bytes(6) + named

    # When
    try:
        found: bool | None = is_found(9, frame, piece)
    except PeerViolation:
        found = None

    # Then
    assert found is (None if read is None else is_short)


@pytest.mark.parametrize("piece", [1, 3, 1_000])
def test_what_a_broker_would_read_modulo_two_to_the_32_is_refused(piece: int) -> None:
    """Read as it stands, the name would be that of another topic, of four gigabytes."""
    name = b"\x88\x80\x80\x80\x10" + STATE.encode()
    with pytest.raises(PeerViolation, match="31 bits"):
        is_found(9, HEADER + b"\x00" + bytes(6) + b"\x02" + name + b"\x01\x00\x00", piece)


def test_a_number_that_does_not_end_is_refused() -> None:
    with pytest.raises(PeerViolation, match="five bytes"):
        is_found(9, HEADER + b"\xff" * 40, 1)


# ------------------------------------------------ what no producer sends


def of_topics(version: int, count: int, topics: bytes) -> bytes:
    if version >= 9:
        return HEADER + b"\x00" + bytes(6) + encode_varint(count + 1) + topics
    return bytes(4) + bytes((0, 0, 0, version, 0, 0, 0, 7, 255, 255)) + bytes(8) + count.to_bytes(4) + topics


NAMED: Final = b"\x08" + STATE.encode() + b"\x01\x00"
IDLE: Final[dict[str, tuple[int, Callable[[int], bytes]]]] = {
    "topics without partitions": (9, lambda n: of_topics(9, n + 1, b"\x02t\x01\x00" * n + NAMED)),
    "topics of an old version": (
        3,
        lambda n: of_topics(
            3, n + 1, (b"\x00\x01t" + bytes(4)) * n + b"\x00\x07" + STATE.encode() + bytes(4)
        ),
    ),
    "partitions without records": (
        9,
        lambda n: of_topics(
            9, 2, b"\x02t" + encode_varint(n + 1) + (bytes(4) + b"\x01\x00") * n + b"\x00" + NAMED
        ),
    ),
    "tags": (9, lambda n: of_topics(9, 2, b"\x02t\x01" + encode_varint(n) + b"\x07\x00" * n + NAMED)),
}


@pytest.mark.parametrize("piece", [1, 7, 100_000])
@pytest.mark.parametrize("count", [1, MOST_IDLE - 1, MOST_IDLE, MOST_IDLE + 1, MOST_IDLE + 2, 1_000])
@pytest.mark.parametrize("kind", IDLE)
def test_a_topic_is_found_behind_whatever_is_without_records(kind: str, count: int, piece: int) -> None:
    version, frame_of = IDLE[kind]
    assert is_found(version, frame_of(count), piece)


@pytest.mark.parametrize("kind", IDLE)
def test_the_names_of_a_request_with_very_much_that_has_no_records_are_not_read_one_by_one(kind: str) -> None:
    # Given
    version, frame_of = IDLE[kind]
    frame = frame_of(20_000).replace(STATE.encode(), b"_" * len(STATE))
    topics = ProduceTopics(version, WANTED)
    steps = 0

    def count(_frame: object, event: str, _what: object) -> None:
        nonlocal steps
        steps += event == "call"

    # When
    sys.setprofile(count)
    try:
        has_found = topics.feed(frame)
    finally:
        sys.setprofile(None)

    # Then
    assert not has_found
    assert steps < 20 * MOST_IDLE


def test_records_of_a_request_with_very_much_that_has_none_are_searched_too() -> None:
    """Nobody can tell the name of a topic from a record any more; no producer sends such a request."""
    frame = of_topics(9, 1_000, b"\x02t\x01\x00" * 998 + b"\x02t\x02" + bytes(4) + b"\x08" + STATE.encode())
    assert is_found(9, frame, 5)


def test_a_request_of_very_many_small_batches_is_read_as_ever() -> None:
    data = [
        TopicProduceData(f"t{n}", partition_data=[PartitionProduceData(0, b"__state" * 10)])
        for n in range(500)
    ]
    frame = b"".join(
        codecs.encode_request(ApiKey.PRODUCE, 9, 7, "client", ProduceRequest("t", 1, 1000, data))
    )
    assert not is_found(9, frame, 999)
