"""A stream is what was sent, in whatever order and however often its segments were captured."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kproxy.clients.frames.captured_packets import Segment
from kproxy.clients.frames.tcp_streams import TcpStream


def segment(sequence: int, payload: bytes = b"", *, is_first: bool = False) -> Segment:
    return Segment("a:1", "b:2", sequence % 2**32, payload, is_first, is_first, 0)


@st.composite
def transmissions(draw: st.DrawFn) -> tuple[bytes, int, list[Segment]]:
    """What was sent, the first sequence number, and its segments, mixed up, some of them twice or overlapping."""
    sent = draw(st.binary(min_size=1, max_size=60))
    first = draw(st.sampled_from([0, 1000, 2**32 - 20, 2**32 - 1]))
    cuts = sorted({0, len(sent), *draw(st.lists(st.integers(0, len(sent)), max_size=5))})
    pieces = list(pairwise(cuts))
    again = draw(st.lists(st.tuples(st.integers(0, len(sent)), st.integers(0, len(sent))), max_size=3))
    spans = draw(st.permutations([*pieces, *((min(pair), max(pair)) for pair in again)]))
    return sent, first, [segment(first + 1 + begin, sent[begin:end]) for begin, end in spans]


@given(transmissions())
def test_segments_in_any_order_and_number_give_what_was_sent(drawn: tuple[bytes, int, list[Segment]]) -> None:
    # Given
    sent, first, segments = drawn
    stream = TcpStream()
    list(stream.take(segment(first, is_first=True)))

    # When
    parts = [part for each in segments for part in stream.take(each)]

    # Then
    assert b"".join(part for part in parts if isinstance(part, bytes)) == sent
    assert not any(isinstance(part, int) for part in parts)


def test_what_the_capture_does_not_have_is_told_as_so_many_bytes() -> None:
    # Given
    stream = TcpStream()
    first = list(stream.take(segment(0, is_first=True)))
    early = [part for each in (segment(1, b"ab"), segment(8, b"ij")) for part in stream.take(each)]

    # When
    rest = list(stream.rest())

    # Then
    assert (first, early, rest) == ([], [b"ab"], [5, b"ij"])


def test_a_capture_that_begins_in_the_middle_begins_with_its_first_segment() -> None:
    # Given
    stream = TcpStream()

    # When
    parts = list(stream.take(segment(7_000, b"abc")))

    # Then
    assert parts == [b"abc"]
