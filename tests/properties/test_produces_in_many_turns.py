"""A Produce may name very many topics: they are read in many turns, none is missed, and nothing honest is refused."""

from contextlib import suppress
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import PeerViolation
from kproxy.interception.closed_topic_search import STEPS_A_TURN, STEPS_OF_A_SHORT_TURN
from kproxy.interception.closed_topics import ClosedTopics
from kproxy.interception.turns.turn_share import WORK_A_TURN
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.worlds.heard_requests import Heard, TurnOfMany

STATE: Final = "__kproxy_share_state"
STATE_ID: Final = b"id-of-the-state-"
OTHER_ID: Final = b"id-of-any-other-"
SMALLEST_BATCH: Final = STATE.encode().ljust(61)
MANY: Final = 6_000
"""Topics that take longer to be read than a turn has time."""

versions: Final = st.sampled_from([3, 9, 13])
chunk_sizes: Final = st.lists(st.integers(1, 30_000), max_size=20)


def produced(version: int, *names: str, records: bytes = SMALLEST_BATCH) -> bytes:
    topics = [
        TopicProduceData(name, STATE_ID if name == STATE else OTHER_ID, [PartitionProduceData(0, records)])
        for name in names
    ]
    request = ProduceRequest(acks=1, topic_data=topics)
    return b"".join(codecs.encode_request(ApiKey.PRODUCE, version, 1, "client", request))


def a_stream(share: TurnOfMany) -> Heard:
    closed = ClosedTopics([STATE])
    closed.know([STATE_ID])
    return Heard(share=share, closed_topics=closed)


def used_up() -> TurnOfMany:
    share = TurnOfMany()
    share.left = 0
    return share


def receive_in_turns(heard: Heard, data: bytes, sizes: list[int]) -> None:
    """Let `data` come in chunks of `sizes` and then the rest, and the turns pass that it waits for."""
    for size in (*sizes, len(data)):
        heard.stream.receive(data[:size])
        data = data[size:]
        if size % 2:
            heard.stream.go_on()
    while heard.stream.is_paused:
        heard.stream.go_on(in_long_turn=True)


@given(versions, st.lists(st.integers(0, 900), min_size=1, max_size=5), chunk_sizes)
def test_honest_requests_pass_as_they_came_though_others_use_the_turns_up_and_records_mention_a_closed_topic(
    version: int, topic_counts: list[int], sizes: list[int]
) -> None:
    heard = a_stream(used_up())
    requests = [produced(version, *["orders"] * count) for count in topic_counts]

    receive_in_turns(heard, b"".join(requests), sizes)

    assert heard.sent == b"".join(requests)
    assert [key for key, _, _ in heard.relayed] == [0] * len(requests)
    assert heard.held == []
    assert (heard.stream.is_mid_frame, heard.stream.backlog_bytes) == (False, 0)


@given(versions, st.integers(0, 900), st.integers(0, 900), chunk_sizes)
def test_a_closed_topic_is_found_among_very_many_in_whatever_turns(
    version: int, before: int, behind: int, sizes: list[int]
) -> None:
    heard = a_stream(used_up())
    request = produced(version, *["orders"] * before, STATE, *["orders"] * behind)

    with suppress(PeerViolation):
        receive_in_turns(heard, request, sizes)

    assert len(heard.sent) < len(request)
    assert not heard.sent or len(heard.relayed) == 1
    assert [whole for _, whole in heard.held] in ([], [request[4:]])


@pytest.mark.parametrize("cut", [1_000, 0], ids=["in-parts", "whole"])
def test_of_very_many_topics_a_turn_reads_a_part_and_counts_it(cut: int) -> None:
    # Given
    share = TurnOfMany()
    heard, request = a_stream(share), produced(9, *["t"] * MANY)

    # When
    heard.stream.receive(request[: -cut or None])
    first_turn = WORK_A_TURN - share.left
    share.left = 0
    heard.stream.go_on()

    # Then
    assert STEPS_A_TURN <= first_turn < STEPS_A_TURN + 30
    assert STEPS_OF_A_SHORT_TURN <= -share.left < STEPS_OF_A_SHORT_TURN + 30
    assert heard.stream.is_paused
    assert heard.stream.is_mid_frame


def test_a_whole_request_whose_bytes_mention_no_closed_topic_waits_for_nobody() -> None:
    heard, request = a_stream(used_up()), produced(9, *["t"] * MANY, records=bytes(61))

    heard.stream.receive(request)

    assert heard.sent == request
    assert not heard.stream.is_paused


@pytest.mark.parametrize("end", [-1, None], ids=["in-parts", "whole"])
def test_a_request_about_fifty_topics_passes_in_a_turn_that_is_used_up(end: int | None) -> None:
    heard, request = a_stream(used_up()), produced(9, *["t"] * 49, records=SMALLEST_BATCH * 20)

    heard.stream.receive(request[:end])

    assert heard.sent == request[:end]
    assert not heard.stream.is_paused


def test_what_comes_behind_a_request_that_is_read_in_many_turns_comes_behind_it() -> None:
    heard = a_stream(used_up())
    request, next_one = produced(9, *["t"] * MANY), produced(9, "orders")
    heard.stream.receive(request[:-1])

    receive_in_turns(heard, request[-1:] + next_one, [1])

    assert heard.sent == request + next_one
    assert heard.stream.request_count == 2


@pytest.mark.parametrize("end", [-1, None], ids=["in-parts", "whole"])
def test_a_version_that_nobody_knows_is_refused_however_much_it_names(end: int | None) -> None:
    heard, plain, request = a_stream(used_up()), produced(13, "t"), produced(13, *["t"] * MANY)
    unknown = request[:7] + b"\x0e" + request[8:]

    with pytest.raises(PeerViolation, match="version_not_advertised"):
        heard.stream.receive((plain + unknown)[:end])

    assert heard.sent == plain
