"""What waits behind a request keeps its order, and takes hardly more than its bytes."""

import weakref
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.interception.request_backlog import RequestBacklog


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
