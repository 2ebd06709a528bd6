"""What a turn of the loop has left."""

import struct
from collections import deque

from kproxy.interception.request_stream import LARGE_FRAME_BYTES
from kproxy.interception.response_slots import ResponseSlot, SlotKind
from kproxy.interception.response_stream import LARGE_ANSWER_BYTES, ResponseStream
from kproxy.interception.turns.turn_share import WORK_A_TURN, TurnShare, work_of_answer
from kproxy.wire import codecs
from kproxy.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from tests.worlds.heard_requests import SHARE_FETCH, Heard, TurnOfMany, frame, produce


def test_a_session_alone_has_all_of_a_turn_at_each_call() -> None:
    share = TurnShare()

    share.spend(3 * WORK_A_TURN)
    left = [share.left]
    share.enter()
    left.append(share.left)

    assert left == [-2 * WORK_A_TURN, WORK_A_TURN]


def test_an_answer_takes_as_much_as_it_is_long() -> None:
    assert [work_of_answer([bytes(size), bytes(size)]) for size in (0, 80, 80_000)] == [0, 10, 10_000]


def test_what_other_sessions_did_in_the_same_turn_leaves_so_much_less_to_do() -> None:
    # Given
    share = TurnOfMany()
    streams = [Heard(share=share) for _ in range(3)]

    # When
    for heard in streams:
        heard.stream.receive(frame(SHARE_FETCH, 1, 1, bytes(5_000)) * 2)

    # Then
    assert [len(heard.held) for heard in streams] == [2, 0, 0]
    assert [heard.stream.is_paused for heard in streams] == [False, True, True]
    assert not any(heard.stream.awaits_long_turn for heard in streams)


def test_a_large_request_has_its_long_turn_whatever_others_did_in_it() -> None:
    # Given
    share = TurnOfMany()
    heard = Heard(share=share)
    heard.stream.receive(frame(SHARE_FETCH, 1, 1, bytes(LARGE_FRAME_BYTES)) + frame(12, 4, 2))
    share.spend(2 * WORK_A_TURN)

    # When
    was_due = heard.stream.awaits_long_turn
    heard.stream.go_on(in_long_turn=True)

    # Then
    assert was_due
    assert [number for number, _ in heard.held] == [1]
    assert (heard.relayed, heard.stream.is_paused, heard.stream.awaits_long_turn) == ([], True, False)


def test_the_rest_of_a_request_that_streams_on_passes_although_the_turn_has_nothing_left() -> None:
    # Given
    large = produce(2, 0, bytes(100_000))
    share = TurnOfMany()
    heard = Heard(share=share)
    heard.stream.receive(large[:40])

    # When
    share.spend(2 * WORK_A_TURN)
    heard.stream.receive(large[40:] + produce(3, 0))

    # Then
    assert heard.sent == large
    assert heard.stream.is_paused


def changed(correlation_id: int, size: int) -> bytes:
    return struct.pack(">ii", 4 + size, correlation_id) + bytes(size)


def a_stream(share: TurnShare, *kinds: SlotKind) -> tuple[ResponseStream, list[int]]:
    """Return a stream of DescribeGroups responses, and how long those were that were changed."""
    slots = deque(ResponseSlot(kind, 15, 5, number) for number, kind in enumerate(kinds, start=1))
    changed_bytes: list[int] = []

    def change(_: ResponseSlot, frame: memoryview) -> bool:
        changed_bytes.append(len(frame))
        slots.popleft()
        return True

    return ResponseStream(slots, 1 << 20, change, lambda: None, share), changed_bytes


def test_answers_that_are_changed_wait_for_another_turn_when_other_sessions_have_used_this_one_up() -> None:
    # Given
    share = TurnOfMany()
    streams = [a_stream(share, SlotKind.REWRITE, SlotKind.FORWARD) for _ in range(3)]

    # When
    for stream, _ in streams:
        stream.receive(changed(1, LARGE_ANSWER_BYTES // 2) + changed(2, 10))
    done = [len(changed_bytes) for _, changed_bytes in streams]
    share.left = WORK_A_TURN
    for stream, _ in streams[1:]:
        stream.release()

    # Then
    assert done == [1, 0, 0]
    assert [len(changed_bytes) for _, changed_bytes in streams] == [1, 1, 0]
    assert [stream.awaits_turn for stream, _ in streams] == [False, False, True]
    assert not any(stream.has_long_answer for stream, _ in streams)


def test_what_was_walked_through_counts_and_the_rest_of_it_waits_unread_for_another_turn() -> None:
    # Given
    share = TurnOfMany()
    partitions = [PartitionData(number, records=b"") for number in range(10_000)]
    topic = FetchableTopicResponse(topic_id=bytes(16), partitions=partitions)
    whole = b"".join(codecs.encode_response(1, 17, 1, FetchResponse(responses=[topic])))
    stream, _ = a_stream(share, SlotKind.NEUTRALISE)
    pieces = [whole[start : start + 50_000] for start in range(0, len(whole), 50_000)]

    # When
    for piece in pieces:
        stream.receive(piece)
    came = b"".join(stream.for_client)
    stream.for_client = []
    passes = stream.passes(20_000)
    turns = 1
    while stream.awaits_turn:
        share.left, turns = WORK_A_TURN, turns + 1
        stream.release()

    # Then
    assert len(came) < len(whole) * 2 // 3
    assert not passes
    assert came + b"".join(stream.for_client) == whole
    assert turns > 1


def test_records_that_are_skipped_cost_a_turn_next_to_nothing() -> None:
    # Given
    share = TurnOfMany()
    topic = FetchableTopicResponse(topic_id=bytes(16), partitions=[PartitionData(records=bytes(1_000_000))])
    whole = b"".join(codecs.encode_response(1, 17, 1, FetchResponse(responses=[topic])))
    stream, _ = a_stream(share, SlotKind.NEUTRALISE)

    # When
    for start in range(0, len(whole), 50_000):
        stream.receive(whole[start : start + 50_000])

    # Then
    assert b"".join(stream.for_client) == whole
    assert share.left > WORK_A_TURN - 100
