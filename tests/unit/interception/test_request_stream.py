"""`RequestStream`: what a client sends, cut into requests whatever the chunks."""

import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import PeerViolation
from kproxy.interception.request_stream import HELD_BYTES_A_TURN, LARGE_FRAME_BYTES
from kproxy.interception.routing import Disposition
from tests.worlds.heard_requests import JOIN_GROUP, SHARE_FETCH, Heard, frame, produce

CONVERSATION = [
    frame(1, 12, 1, b"fetch" * 50),
    produce(2, -1, b"records" * 100),
    produce(3, 0, b"records"),
    frame(3, 9, 4),
    frame(SHARE_FETCH, 1, 5, b"share" * 20),
    frame(18, 3, 6, b"versions"),
    frame(SHARE_FETCH, 2, 7),
    frame(12, 4, 8, b"heartbeat"),
    frame(1, 17, 9, b"newer fetch"),
]


@given(cuts=st.lists(st.integers(0, sum(map(len, CONVERSATION))), max_size=30))
def test_any_chunking_of_the_same_bytes_gives_the_same_requests(cuts: list[int]) -> None:
    """Forwarded bytes leave untouched and in order; held frames are whole; acks=0 owes nothing."""
    heard, data = Heard(), b"".join(CONVERSATION)

    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(data)], strict=True):
        heard.stream.receive(data[start:end])

    assert heard.relayed == [
        (1, 1, Disposition.FORWARD),
        (0, 2, Disposition.FORWARD),
        (3, 4, Disposition.REWRITE),
        (18, 6, Disposition.REWRITE),
        (12, 8, Disposition.FORWARD),
        (1, 9, Disposition.NEUTRALISE),
    ]
    assert heard.held == [(5, CONVERSATION[4][4:]), (7, CONVERSATION[6][4:])]
    assert heard.sent == b"".join([*CONVERSATION[:4], CONVERSATION[5], CONVERSATION[7], CONVERSATION[8]])
    assert not heard.stream.is_mid_frame


def join_group(correlation_id: int, group_id: bytes, body: bytes = b"") -> bytes:
    return frame(
        JOIN_GROUP, 5, correlation_id, b"\x00\x01c" + struct.pack(">h", len(group_id)) + group_id + body
    )


JOINS = [
    join_group(1, b"orders", b"member"),
    join_group(2, b"payments", b"member" * 50),
    frame(12, 4, 3, b"heartbeat"),
    join_group(4, b"orders"),
    join_group(5, b"order"),
]


@given(cuts=st.lists(st.integers(0, sum(map(len, JOINS))), max_size=30))
def test_what_would_make_another_group_of_a_share_group_is_held_whole_and_the_rest_streams_on(
    cuts: list[int],
) -> None:
    heard, data = Heard(share_group_ids={"orders", "payment"}), b"".join(JOINS)

    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(data)], strict=True):
        heard.stream.receive(data[start:end])

    assert heard.held == [(1, JOINS[0][4:]), (4, JOINS[3][4:])]
    assert heard.relayed == [
        (JOIN_GROUP, 2, Disposition.FORWARD),
        (12, 3, Disposition.FORWARD),
        (JOIN_GROUP, 5, Disposition.FORWARD),
    ]
    assert heard.sent == b"".join([JOINS[1], JOINS[2], JOINS[4]])


def test_a_request_of_another_group_streams_on_as_soon_as_the_groups_id_has_come() -> None:
    heard, whole = Heard(share_group_ids={"orders"}), join_group(1, b"payments", bytes(1000))
    head_bytes = whole.index(b"payments") + len(b"payments")

    heard.stream.receive(whole[: head_bytes - 1])
    sent_before, held_before = heard.sent, heard.stream.held_bytes
    heard.stream.receive(whole[head_bytes - 1 : head_bytes])

    assert (sent_before, held_before) == (b"", head_bytes - 1)
    assert (heard.sent, heard.stream.held_bytes) == (whole[:head_bytes], 0)


def test_while_there_is_no_share_group_nothing_is_looked_into() -> None:
    heard, whole = Heard(), join_group(1, b"orders")

    heard.stream.receive(whole[:20])

    assert heard.sent == whole[:20]


def test_a_request_that_ends_within_its_groups_id_is_left_to_the_broker() -> None:
    heard, cut_short = Heard(share_group_ids={"orders"}), frame(JOIN_GROUP, 5, 1, b"\x00\x01c\x00\x06ord")

    heard.stream.receive(cut_short + frame(12, 4, 2))

    assert heard.sent == cut_short + frame(12, 4, 2)
    assert not heard.stream.is_mid_frame


def test_a_chunk_of_forwarded_frames_leaves_as_the_very_same_object() -> None:
    heard, chunk = Heard(), frame(1, 12, 1, b"a") + frame(1, 12, 2, b"b")

    heard.stream.receive(chunk)

    assert heard.stream.for_broker == [chunk]
    assert heard.stream.for_broker[0] is chunk


def test_a_forwarded_frame_streams_on_before_it_is_whole() -> None:
    heard, whole = Heard(), frame(1, 12, 1, bytes(1000))

    heard.stream.receive(whole[:500])

    assert heard.sent == whole[:500]
    assert heard.stream.is_mid_frame
    assert heard.stream.held_bytes == 0


def test_the_middle_of_a_forwarded_frame_may_pass_the_stream_by_and_counts_as_received() -> None:
    heard, whole = Heard(), frame(1, 12, 1, bytes(1000))
    heard.stream.receive(whole[:500])
    heard.stream.for_broker.clear()

    answers = [heard.stream.passes(size) for size in (513, 300, 212, 1)]

    assert answers == [False, True, True, False]
    assert not heard.stream.is_mid_frame


def test_nothing_passes_by_what_has_yet_to_be_sent_on() -> None:
    heard, whole = Heard(), frame(1, 12, 1, bytes(1000))
    heard.stream.receive(whole[:500])

    assert not heard.stream.passes(100)


@pytest.mark.parametrize(
    "received", [b"", frame(SHARE_FETCH, 1, 1, bytes(100))[:50], frame(SHARE_FETCH, 1, 1) + bytes(5)]
)
def test_nothing_passes_by_a_frame_that_begins_or_is_held(received: bytes) -> None:
    heard = Heard(bar=True)
    heard.stream.receive(received)

    assert not heard.stream.passes(10)


def test_nothing_passes_ahead_of_what_waits_for_another_turn() -> None:
    # Given a turn that ends in the middle of a large Produce, the rest of which has come already
    small, large = produce(1, 0), produce(2, 0, bytes(100_000))
    flow = small * (HELD_BYTES_A_TURN // 2 - 1) + large
    begun = len(flow) - len(large) + 40
    heard = Heard()
    heard.stream.receive(flow[:begun])
    heard.stream.receive(flow[begun : begun + 20_000])

    # When
    heard.stream.go_on()
    heard.stream.for_broker = []

    # Then
    assert heard.stream.is_paused
    assert heard.stream.is_mid_frame
    assert not heard.stream.passes(40_000)


def test_requests_behind_one_that_is_being_answered_wait_unread() -> None:
    heard = Heard(bar=True)

    heard.stream.receive(frame(SHARE_FETCH, 1, 1) + frame(3, 9, 2))
    heard.stream.receive(frame(3, 9, 3))

    assert heard.relayed == []
    assert heard.stream.backlog_bytes == 2 * len(frame(3, 9, 2))


def test_requests_that_waited_go_on_in_order_until_the_next_one_to_answer() -> None:
    heard = Heard(bar=True)
    heard.stream.receive(
        frame(SHARE_FETCH, 1, 1) + frame(3, 9, 2) + frame(SHARE_FETCH, 1, 3) + frame(3, 9, 4)
    )

    heard.stream.go_on()

    assert [correlation_id for _, correlation_id, _ in heard.relayed] == [2]
    assert [correlation_id for correlation_id, _ in heard.held] == [1, 3]
    assert heard.stream.backlog_bytes == len(frame(3, 9, 4))


@pytest.mark.parametrize(
    ("request_bytes", "most_a_turn"),
    [(frame(SHARE_FETCH, 1, 1), HELD_BYTES_A_TURN // 12 + 1), (frame(12, 4, 1), HELD_BYTES_A_TURN // 4)],
    ids=["held", "relayed"],
)
def test_thousands_of_requests_in_one_chunk_are_spread_over_many_turns(
    request_bytes: bytes, most_a_turn: int
) -> None:
    heard, counts = Heard(), [0]

    heard.stream.receive(request_bytes * 20_000)
    while heard.stream.is_paused:
        counts.append(len(heard.held) + len(heard.relayed))
        heard.stream.go_on()
    counts.append(len(heard.held) + len(heard.relayed))

    assert counts[-1] == 20_000
    assert max(after - before for before, after in pairwise(counts)) == most_a_turn


@pytest.mark.parametrize("cut", [1, 40, LARGE_FRAME_BYTES, LARGE_FRAME_BYTES + 20], ids=str)
def test_a_large_request_is_handed_over_in_a_long_turn_and_in_no_other(cut: int) -> None:
    # Given
    large, behind = frame(SHARE_FETCH, 1, 1, bytes(LARGE_FRAME_BYTES)), frame(12, 4, 2)
    flow = large + behind
    heard = Heard()
    heard.stream.receive(flow[:cut])
    heard.stream.receive(flow[cut:])
    heard.stream.go_on()
    before = ([*heard.held], [*heard.relayed], heard.stream.is_paused, heard.stream.backlog_bytes)

    # When
    heard.stream.go_on(in_long_turn=True)
    heard.stream.go_on()

    # Then
    assert before == ([], [], True, len(flow))
    assert (heard.held, [number for _, number, _ in heard.relayed]) == ([(1, large[4:])], [2])


def test_a_long_turn_hands_over_one_large_request() -> None:
    # Given
    heard = Heard()
    heard.stream.receive(frame(12, 4, 1) + frame(SHARE_FETCH, 1, 2, bytes(LARGE_FRAME_BYTES)) * 2)
    counts: list[int] = []

    # When
    while heard.stream.is_paused:
        heard.stream.go_on(in_long_turn=True)
        counts.append(len(heard.held))

    # Then
    assert counts == [1, 2]
    assert len(heard.relayed) == 1


def test_what_comes_while_requests_wait_for_another_turn_waits_behind_them() -> None:
    heard = Heard()
    heard.stream.receive(frame(SHARE_FETCH, 1, 1) * 2_000)

    heard.stream.receive(frame(12, 4, 2))
    before = list(heard.relayed)
    while heard.stream.is_paused:
        heard.stream.go_on()

    assert (before, len(heard.held), len(heard.relayed)) == ([], 2_000, 1)


@given(st.lists(st.integers(0, 3_000), max_size=60), st.lists(st.integers(1, 9_000), max_size=60))
def test_requests_in_many_turns_are_the_same_as_one_after_the_other(
    body_sizes: list[int], chunk_sizes: list[int]
) -> None:
    # Given
    requests = [
        frame(SHARE_FETCH if size % 2 else 3, 1, number, bytes(size))
        for number, size in enumerate(body_sizes)
    ]
    one_by_one, spread, sent = Heard(), Heard(), b"".join(requests)
    for request in requests:
        one_by_one.stream.receive(request)

    # When
    for size in (*chunk_sizes, len(sent)):
        chunk, sent = sent[:size], sent[size:]
        spread.stream.receive(chunk)
        if size % 2:
            spread.stream.go_on()
    while spread.stream.is_paused:
        spread.stream.go_on()

    # Then
    assert (spread.held, spread.relayed, spread.sent) == (
        one_by_one.held,
        one_by_one.relayed,
        one_by_one.sent,
    )
    assert spread.stream.backlog_bytes == 0


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (frame(999, 0, 1), "unknown_api_key"),
        (frame(83, 0, 1), "unknown_api_key"),
        (frame(3, 14, 1), "version_not_advertised"),
        (frame(3, -1, 1), "version_not_advertised"),
        (frame(SHARE_FETCH, 0, 1), "version_not_advertised"),
        (frame(1, 19, 1), "version_not_advertised"),
        (frame(17, 0, 1), "version_not_advertised"),
        (b"\x16\x03\x01\x02", "tls_on_plaintext"),
        (b"GET / HTTP/1.1\r\n", "http_on_kafka_port"),
        (b"\xff\xff\xff\xff" + bytes(8), "frame_length_negative"),
        (b"\x00\x00\x00\x03" + bytes(8), "frame_too_short"),
        (b"\x7f\xff\xff\xff" + bytes(8), "frame_too_large"),
        (frame(0, 3, 1, b"\x00\x01c\xff\xff\x00"), "malformed_request"),
    ],
)
def test_what_cannot_be_a_request_is_refused_with_its_reason(data: bytes, reason: str) -> None:
    heard = Heard()

    with pytest.raises(PeerViolation) as refusal:
        heard.stream.receive(data)

    assert refusal.value.reason == reason


def test_a_refused_request_does_not_take_back_what_came_before_it() -> None:
    heard, good = Heard(), frame(3, 9, 1)

    with pytest.raises(PeerViolation):
        heard.stream.receive(good + frame(999, 0, 2))

    assert heard.sent == good


def test_a_frame_of_exactly_the_largest_size_passes() -> None:
    heard = Heard(max_request_bytes=108)

    heard.stream.receive(frame(1, 12, 1, bytes(100)))

    assert len(heard.sent) == 112


@given(st.lists(st.integers(1, 60), max_size=200))
def test_requests_behind_answers_are_the_same_however_they_were_cut(chunk_sizes: list[int]) -> None:
    # Given
    sent = b"".join(
        frame(SHARE_FETCH, 1, number, bytes(number % 50)) + frame(3, 9, number, b"x") for number in range(60)
    )
    whole, cut = Heard(bar=True), Heard(bar=True)
    whole.stream.receive(sent)
    cut.stream.receive(sent[:28])

    # When
    position = 28
    for number in range(60):
        size = chunk_sizes[number] if number < len(chunk_sizes) else len(sent)
        cut.stream.receive(sent[position : position + size])
        position += size
        cut.stream.go_on()
    for heard in (whole, cut):
        for _ in range(60):
            heard.stream.go_on()

    # Then
    assert (cut.held, cut.sent, cut.relayed) == (whole.held, whole.sent, whole.relayed)
    assert cut.stream.backlog_bytes == 0
