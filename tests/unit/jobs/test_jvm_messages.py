"""What Spark's JVM says reaches standard error as it comes, without the line that it says at each start."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kproxy.jobs.jvm_messages import WithoutStartMessages

HIDDEN = b"WARNING: Using incubator modules: jdk.incubator.vector\n"
ERROR = b"Error: Could not create the Java Virtual Machine.\n"


def shown_of(*chunks: bytes) -> bytes:
    messages = WithoutStartMessages()
    return b"".join(messages.take(chunk) for chunk in (*chunks, b""))


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (HIDDEN, b""),
        (ERROR, ERROR),
        (HIDDEN + ERROR, ERROR),
        (ERROR + HIDDEN, ERROR),
        (b"WARNING: something else\n", b"WARNING: something else\n"),
        (b"it said " + HIDDEN, b"it said " + HIDDEN),
        (b"no end of line", b"no end of line"),
        (b"WARN", b"WARN"),
    ],
)
def test_only_the_line_of_each_start_is_left_out(said: bytes, shown: bytes) -> None:
    assert shown_of(said) == shown


@given(
    some.lists(some.sampled_from([HIDDEN, ERROR, b"\r[Stage 1:>   (0 + 2) / 4]", b"WARNING: ", b"\n"])),
    some.lists(some.integers(min_value=1, max_value=60)),
)
def test_it_does_not_matter_in_which_pieces_it_comes(said: list[bytes], lengths: list[int]) -> None:
    # Given
    whole = b"".join(said)
    pieces, position = [], 0
    for length in lengths:
        pieces.append(whole[position : position + length])
        position += length
    pieces.append(whole[position:])

    # When
    shown = shown_of(*filter(None, pieces))

    # Then
    assert shown == shown_of(*filter(None, [whole]))


def test_a_progress_bar_is_shown_before_its_line_ends() -> None:
    assert WithoutStartMessages().take(b"\r[Stage 1:>   (0 + 2) / 4]") == b"\r[Stage 1:>   (0 + 2) / 4]"
