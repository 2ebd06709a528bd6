from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.interception.produce_topics import ProduceTopics, names_any
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData

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
    assert names_any(memoryview(frame), 2, WANTED)


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
    assert names_any(memoryview(frame), 9, WANTED)


@pytest.mark.parametrize("version", [3, 9, 13])
def test_a_request_that_is_cut_off_names_nothing_that_is_not_there(version: int) -> None:
    frame = produce(version, "orders", "payments", STATE)
    for end in range(14, len(frame) - 300):
        with pytest.raises(IndexError):
            names_any(memoryview(frame)[:end], version, WANTED)


@given(
    version=st.integers(3, 13),
    topics=st.lists(st.sampled_from([STATE, "orders", "__stat", "__state_"]), max_size=5),
    records=st.binary(max_size=300),
    piece=st.integers(1, 400),
)
def test_it_says_what_a_decoder_says(version: int, topics: list[str], records: bytes, piece: int) -> None:
    frame = produce(version, *topics, records=records)
    assert is_found(version, frame, piece) is (STATE in topics)
    assert names_any(memoryview(frame), version, WANTED) is (STATE in topics)


@given(st.binary(max_size=400), st.integers(0, 14), st.integers(1, 50))
def test_nonsense_does_no_harm(frame: bytes, version: int, piece: int) -> None:
    assert isinstance(is_found(version, frame, piece), bool)


def test_a_number_that_does_not_end_is_no_number() -> None:
    """Five bytes at most: what follows is read as whatever comes next, and a broker says what is wrong."""
    head = bytes(4) + bytes((0, 0, 0, 9, 0, 0, 0, 7, 255, 255))
    assert not is_found(9, head + b"\xff" * 40, 1)
