"""A frame that is held until it is whole, however it comes."""

from hypothesis import given
from hypothesis import strategies as st

from kproxy.interception.held_frame import HeldFrame

FRAME = bytes(range(20))


@given(cuts=st.sets(st.integers(1, len(FRAME) - 1)))
def test_a_frame_is_returned_when_its_last_byte_has_come_and_then_nothing_is_held(cuts: set[int]) -> None:
    # Given
    ends = [*sorted(cuts), len(FRAME)]
    pieces = [FRAME[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    held = HeldFrame()
    held.begin(pieces[0], len(FRAME))

    # When
    returned = [held.go_on(memoryview(piece)) for piece in pieces[1:]] or [held.go_on(b"")]

    # Then
    assert returned[:-1] == [None] * (len(returned) - 1)
    assert returned[-1] == memoryview(FRAME)
    assert (held.came, held.frame_bytes) == (b"", 0)


def test_it_is_known_how_much_is_missing() -> None:
    # Given
    held = HeldFrame()
    held.begin(FRAME[:6], len(FRAME))

    # When
    held.go_on(FRAME[6:10])

    # Then
    assert held.missing_bytes == 10


def test_what_came_of_a_frame_of_unknown_size_is_taken_to_be_looked_at_with_more() -> None:
    # Given
    held = HeldFrame()
    held.begin(memoryview(FRAME)[:3])

    # When
    came = held.take()

    # Then
    assert (came, held.came, held.frame_bytes) == (FRAME[:3], b"", 0)


def test_nothing_begins_without_a_byte() -> None:
    # Given
    held = HeldFrame()

    # When
    held.begin(b"", len(FRAME))

    # Then
    assert (held.came, held.frame_bytes) == (b"", 0)


def test_frames_of_one_length_are_told_apart() -> None:
    # Given
    held, counts = HeldFrame(), []

    # When
    for _ in range(2):
        held.begin(FRAME[:6], len(FRAME))
        counts.append(held.begun_count)
        held.go_on(FRAME[6:])
        held.begin(FRAME[:2])
        held.take()

    # Then
    assert counts == [1, 2]
    assert held.missing_bytes == 0
