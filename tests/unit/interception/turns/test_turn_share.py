"""What a turn of the loop has left for the sessions that share it."""

import struct
from collections import deque
from typing import Final

import pytest

from kproxy.interception.request_stream import LARGE_FRAME_BYTES
from kproxy.interception.response_slots import ResponseSlot, SlotKind
from kproxy.interception.response_stream import LARGE_ANSWER_BYTES, ResponseStream
from kproxy.interception.turns.turn_share import (
    LITTLE_WORK,
    WORK_A_TURN,
    CommonShare,
    TurnShare,
    work_of_answer,
    work_of_frame,
)
from kproxy.wire import codecs
from kproxy.wire.codecs import Message
from kproxy.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from kproxy.wire.messages.metadata_request import MetadataRequest
from kproxy.wire.messages.metadata_response import MetadataResponse, MetadataResponseBroker
from kproxy.wire.messages.produce_request import ProduceRequest
from kproxy.wire.messages.produce_response import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from tests.worlds.conversing import Conversation, request, response
from tests.worlds.heard_requests import SHARE_FETCH, Heard, TurnOfMany, frame, produce


def test_a_session_alone_never_finds_a_turn_used_up() -> None:
    share = TurnShare()

    share.spend(3 * WORK_A_TURN)

    assert not share.is_used_up


def test_what_is_longer_takes_more_work() -> None:
    assert [work_of_frame(size) for size in (0, 800, 16_000)] == [16, 116, 2_016]
    assert [work_of_answer([bytes(size), bytes(size)]) for size in (0, 60, 60_000)] == [0, 10, 10_000]


def test_who_did_much_lately_has_not_little_to_do_before_others_until_it_did_little_for_a_while() -> None:
    # Given
    turns = CommonShare()
    share = TurnShare(turns)
    for _ in range(100):
        share.spend(LITTLE_WORK)

    # When
    seen = []
    for turns.turn in range(0, 100, 10):
        seen.append(share.is_little(LITTLE_WORK))

    # Then
    assert seen == [False] * 7 + [True] * 3
    assert not share.is_little(LITTLE_WORK + 1)


def test_little_that_is_done_again_and_again_adds_up() -> None:
    share = TurnShare(CommonShare())

    for _ in range(10):
        share.spend(LITTLE_WORK // 9)

    assert not share.is_little(1)


def test_requests_that_are_held_wait_whole_when_other_sessions_have_used_the_turn_up() -> None:
    # Given
    share = TurnOfMany()
    first, others = Heard(share=share), [Heard(share=share) for _ in range(2)]
    first.stream.receive(frame(SHARE_FETCH, 1, 1, bytes(5_000)))
    share.left = 0

    # When
    for heard in others:
        heard.stream.receive(frame(SHARE_FETCH, 1, 1, bytes(400)) + frame(12, 4, 2))
    seen = [(heard.stream.is_paused, len(heard.held), heard.stream.held_bytes) for heard in others]
    share.left = WORK_A_TURN
    for heard in others:
        heard.stream.go_on()

    # Then
    assert seen == [(True, 0, 0)] * 2
    assert [[number for number, _ in heard.held] for heard in others] == [[1]] * 2
    assert [len(heard.relayed) for heard in others] == [1] * 2


def test_a_request_in_two_reads_of_a_used_up_turn_is_held_until_it_is_whole_and_waits_then() -> None:
    # Given a turn with nothing left
    share = TurnOfMany()
    share.left = 0
    whole, heard = frame(SHARE_FETCH, 1, 1, bytes(400)), Heard(share=share)

    # When
    seen = []
    for start in range(0, len(whole), 100):
        heard.stream.receive(whole[start : start + 100])
        seen.append((heard.stream.held_bytes, heard.stream.backlog_bytes))
    share.left = 1
    heard.stream.go_on()

    # Then no half of it is ever anywhere but beside the other
    assert seen == [(100, 0), (200, 0), (300, 0), (400, 0), (0, 412)]
    assert [number for number, _ in heard.held] == [1]


def test_requests_that_stream_on_pass_although_other_sessions_have_used_the_turn_up() -> None:
    # Given
    share = TurnOfMany()
    share.left = 0
    heard, small, large = Heard(share=share), produce(1, 0) * 15, produce(2, 0, bytes(100_000))
    flow = small + large

    # When
    for start in range(0, len(flow), 30_000):
        heard.stream.receive(flow[start : start + 30_000])
    was_paused = heard.stream.is_paused
    heard.stream.receive(small * 2)

    # Then but very many at a time do not
    assert heard.sent == flow + small + produce(1, 0)
    assert (was_paused, heard.stream.is_paused) == (False, True)


def test_a_large_request_has_its_long_turn_whatever_others_did_in_it() -> None:
    # Given
    share = TurnOfMany()
    share.left = 0
    heard = Heard(share=share)
    heard.stream.receive(frame(SHARE_FETCH, 1, 1, bytes(LARGE_FRAME_BYTES)) + frame(SHARE_FETCH, 1, 2))

    # When
    was_due = heard.stream.awaits_long_turn
    heard.stream.go_on(in_long_turn=True)

    # Then
    assert was_due
    assert [number for number, _ in heard.held] == [1]
    assert (heard.stream.is_paused, heard.stream.awaits_long_turn) == (True, False)


def changed(correlation_id: int, size: int) -> bytes:
    return struct.pack(">ii", 4 + size, correlation_id) + bytes(size)


def a_stream(share: CommonShare, *kinds: SlotKind) -> tuple[ResponseStream, list[int]]:
    """Return a stream of DescribeGroups responses, and how long those were that were changed."""
    slots = deque(ResponseSlot(kind, 15, 5, number) for number, kind in enumerate(kinds, start=1))
    changed_bytes: list[int] = []

    def change(_: ResponseSlot, frame: memoryview) -> bool:
        changed_bytes.append(len(frame))
        slots.popleft()
        return True

    return ResponseStream(slots, 1 << 20, change, lambda: None, TurnShare(share)), changed_bytes


def test_answers_that_are_changed_wait_for_another_turn_when_other_sessions_have_used_this_one_up() -> None:
    # Given
    share = TurnOfMany()
    streams = [a_stream(share, SlotKind.REWRITE, SlotKind.REWRITE, SlotKind.FORWARD) for _ in range(3)]
    size = LARGE_ANSWER_BYTES - 100

    # When
    for stream, _ in streams:
        stream.receive(changed(1, size) + changed(2, size) + changed(3, 10))
    done = [[len(changed_bytes) for _, changed_bytes in streams]]
    for _ in range(3):
        share.left = WORK_A_TURN
        for stream, _ in streams:
            if stream.awaits_turn:
                stream.release()
        done.append([len(changed_bytes) for _, changed_bytes in streams])

    # Then a turn has room for one and the beginning of another
    assert done == [[1, 0, 0], [2, 0, 0], [2, 1, 0], [2, 2, 0]]
    assert [stream.awaits_turn for stream, _ in streams] == [False, False, True]
    assert not any(stream.has_long_answer for stream, _ in streams)


def test_what_was_walked_through_counts_and_the_rest_of_it_waits_unread_for_another_turn() -> None:
    # Given
    share = TurnOfMany()
    partitions = [PartitionData(number, records=b"") for number in range(10_000)]
    topic = FetchableTopicResponse(topic_id=bytes(16), partitions=partitions)
    whole = b"".join(codecs.encode_response(1, 17, 1, FetchResponse(responses=[topic])))
    stream, _ = a_stream(share, SlotKind.NEUTRALISE)

    # When
    for start in range(0, len(whole), 50_000):
        stream.receive(whole[start : start + 50_000])
    came = b"".join(stream.for_client)
    stream.for_client = []
    passes = stream.passes(20_000)
    turns = 1
    while stream.awaits_turn:
        share.left, turns = WORK_A_TURN, turns + 1
        stream.release()

    # Then
    assert len(came) < len(whole) // 2
    assert not passes
    assert came + b"".join(stream.for_client) == whole
    assert turns > 2


def test_the_answer_to_a_fetch_of_few_partitions_passes_although_others_have_used_the_turn_up() -> None:
    # Given
    share = TurnOfMany()
    share.left = 0
    partitions = [PartitionData(number, records=bytes(100_000)) for number in range(20)]
    topic = FetchableTopicResponse(topic_id=bytes(16), partitions=partitions)
    whole = b"".join(codecs.encode_response(1, 17, 1, FetchResponse(responses=[topic])))
    stream, _ = a_stream(share, SlotKind.NEUTRALISE)

    # When
    for start in range(0, len(whole), 50_000):
        stream.receive(whole[start : start + 50_000])

    # Then
    assert b"".join(stream.for_client) == whole
    assert not stream.awaits_turn
    assert share.left > -200


MOVED: Final = ProduceResponse(
    responses=[
        TopicProduceResponse(
            name="jobs",
            partition_responses=[
                PartitionProduceResponse(number, current_leader=LeaderIdAndEpoch(1, 5))
                for number in range(1_000)
            ],
        )
    ],
    node_endpoints=[NodeEndpoint(1, "broker", 9092)],
)
STORED: Final = ProduceResponse(
    responses=[
        TopicProduceResponse(
            name="jobs", partition_responses=[PartitionProduceResponse(number) for number in range(1_000)]
        )
    ]
)


def metadata(broker_count: int) -> MetadataResponse:
    return MetadataResponse(brokers=[MetadataResponseBroker(1, "broker", 9092)] * broker_count)


@pytest.mark.parametrize(
    ("api_key", "version", "asked", "answer", "work"),
    [
        (0, 10, ProduceRequest(acks=1), MOVED, range(4_000, 8_000)),
        (0, 10, ProduceRequest(acks=1), STORED, range(400, 1_000)),
        (3, 9, MetadataRequest(), metadata(1_000), range(4_000, 8_000)),
        (3, 9, MetadataRequest(), metadata(3), range(50)),
    ],
)
def test_of_answers_of_which_little_is_read_as_a_rule_what_is_read_of_them_counts(
    api_key: int, version: int, asked: Message, answer: Message, work: range
) -> None:
    # Given
    share = TurnOfMany()
    conversation = Conversation(share=share)
    conversation.client_sends(request(api_key, version, 1, asked))
    before = share.left

    # When
    conversation.broker_sends(response(api_key, version, 1, answer))

    # Then
    assert before - share.left in work


def test_where_all_did_far_too_much_nobody_looks_at_what_streams_on_before_its_turn_and_it_stays_in_order() -> (
    None
):
    # Given one in the middle of a request, and one at the beginning
    share = TurnOfMany()
    large, small = produce(1, 1, bytes(3_000)), frame(12, 4, 2)
    midway, fresh = Heard(share=share), Heard(share=share)
    midway.stream.receive(large[:1_000])
    share.left = -WORK_A_TURN

    # When
    midway.stream.receive(large[1_000:2_000])
    midway.stream.receive(large[2_000:] + small)
    fresh.stream.receive(small)
    seen = [
        (len(each.sent), each.stream.backlog_bytes, each.stream.is_put_off, each.stream.passes(1))
        for each in (midway, fresh)
    ]
    share.left = 1
    for each in (midway, fresh):
        each.stream.go_on()

    # Then
    assert seen == [(1_000, len(large) - 1_000 + len(small), True, False), (0, len(small), True, False)]
    assert (midway.sent, fresh.sent) == (large + small, small)
    assert [each.stream.is_paused for each in (midway, fresh)] == [False, False]
    assert [number for _, number, _ in midway.relayed] == [1, 2]


@pytest.mark.parametrize("cut", [1, 4, 5, 7, 11, 20])
def test_the_beginning_of_a_head_waits_with_what_is_put_off_behind_it(cut: int) -> None:
    """Who has left sends no more, so what is held of a frame is forgotten: what follows it must not stay alone."""
    # Given
    share, whole = TurnOfMany(), produce(1, 1, bytes(300))
    heard = Heard(share=share)
    heard.stream.receive(whole[:cut])
    share.left = -WORK_A_TURN

    # When
    heard.stream.receive(whole[cut:])
    held_bytes = heard.stream.held_bytes
    heard.stream.held.take()
    share.left = 1
    heard.stream.go_on()

    # Then
    assert held_bytes == 0
    assert heard.sent == whole


def test_the_rest_of_a_request_that_is_held_is_taken_though_all_did_far_too_much() -> None:
    share = TurnOfMany()
    whole, heard = frame(SHARE_FETCH, 1, 1, bytes(400)), Heard(share=share)
    heard.stream.receive(whole[:100])
    share.left = -WORK_A_TURN

    heard.stream.receive(whole[100:200])

    assert (heard.stream.held_bytes, heard.stream.backlog_bytes) == (200, 0)


def test_each_request_that_streams_on_counts_and_so_does_each_read_of_a_client() -> None:
    # Given
    share = TurnOfMany()
    heard = Heard(share=share)

    # When
    for number in range(10):
        heard.stream.receive(frame(12, 4, number) * 2)

    # Then
    assert WORK_A_TURN - share.left == 10 * (20 + 2 * 3)
