"""What waits behind a request keeps its order, and takes hardly more than its bytes."""

import sys
import weakref
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.interception.request_backlog import RequestBacklog
from tests.worlds.heard_requests import SHARE_FETCH, Heard, frame


def taken(backlog: RequestBacklog) -> list[bytes]:
    return list(map(bytes, iter(backlog.take, None)))


def test_what_was_put_back_comes_first() -> None:
    backlog = RequestBacklog()
    backlog.append(b"second")

    backlog.put_back(b"first ")

    assert (backlog.byte_count, taken(backlog), backlog.byte_count) == (12, [b"first ", b"second"], 0)


@pytest.mark.parametrize(("rest_bytes", "is_kept"), [(10, False), (30_000, False), (60_000, True)])
def test_a_rest_does_not_keep_a_read_that_is_much_larger(rest_bytes: int, *, is_kept: bool) -> None:
    # Given
    backlog, read = RequestBacklog(), array("b", bytes(100_000))
    alive = weakref.ref(read)

    # When
    backlog.put_back(memoryview(read).cast("B")[-rest_bytes:])
    del read

    # Then
    assert (alive() is not None) is is_kept
    assert b"".join(taken(backlog)) == bytes(rest_bytes)


def test_small_chunks_are_joined() -> None:
    backlog = RequestBacklog()

    for _ in range(100):
        backlog.append(b"x")

    assert taken(backlog) == [b"x" * 100]


@given(st.lists(st.binary(min_size=1, max_size=2_000)))
def test_every_byte_comes_out_as_it_went_in(chunks: list[bytes]) -> None:
    backlog = RequestBacklog()

    for chunk in chunks:
        backlog.append(chunk)

    assert backlog.byte_count == sum(map(len, chunks))
    assert b"".join(taken(backlog)) == b"".join(chunks)


def calls_to_serve(request_count: int) -> int:
    """Return how many calls it takes to go on behind each of so many requests that came byte by byte."""
    heard, call_count = Heard(bar=True), 0

    def count_call(_frame: object, event: str, _argument: object) -> None:
        nonlocal call_count
        call_count += event in {"call", "c_call"}

    for byte in b"".join(frame(SHARE_FETCH, 1, number, bytes(20)) for number in range(request_count)):
        heard.stream.receive(bytes([byte]))
    before = sys.getprofile()
    sys.setprofile(count_call)
    for _ in range(request_count):
        heard.stream.go_on()
    sys.setprofile(before)
    assert len(heard.held) == request_count
    return call_count


def test_what_dripped_in_behind_an_answer_is_looked_at_once_and_not_again_for_each_answer() -> None:
    assert calls_to_serve(200) < 3 * calls_to_serve(100)
