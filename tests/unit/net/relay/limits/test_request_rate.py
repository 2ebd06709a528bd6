"""How fast one connection may send requests: the average holds, whatever the chunks are."""

from hypothesis import given
from hypothesis import strategies as st

from kproxy.net.relay.limits.request_rate import RequestRate


def test_a_seconds_worth_of_requests_may_come_at_once() -> None:
    assert RequestRate(100, 0).note(100, 0) == 0


def test_what_is_too_much_is_waited_for() -> None:
    assert RequestRate(100, 0).note(125, 0) == 250


def test_after_the_pause_there_is_room_for_the_next_request_only() -> None:
    rate = RequestRate(10, 0)
    rate.note(15, 0)

    assert [rate.note(15, 500), rate.note(16, 500)] == [0, 100]


def test_nothing_is_saved_up_for_longer_than_a_second() -> None:
    rate = RequestRate(10, 0)
    rate.note(10, 0)

    assert rate.note(30, 3_600_000) == 1000


def test_a_pause_is_never_too_short() -> None:
    assert RequestRate(3, 0).note(4, 0) == 334


@given(st.integers(1, 1000), st.lists(st.tuples(st.integers(0, 300), st.integers(0, 5000)), max_size=60))
def test_who_waits_as_told_never_sends_more_than_the_rate_and_the_last_chunk(
    per_second: int, chunks: list[tuple[int, int]]
) -> None:
    rate, now_ms, sent = RequestRate(per_second, 0), 0, 0
    for size, idle_ms in chunks:
        now_ms += idle_ms
        sent += size
        assert sent - size <= per_second + now_ms * per_second / 1000 + 1
        now_ms += rate.note(sent, now_ms)
