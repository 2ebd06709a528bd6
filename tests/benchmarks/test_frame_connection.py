import pytest

from tests.benchmarks.frame_connection import ResponseCounter

FOUR_RESPONSES = b"".join(
    len(body).to_bytes(4, "big") + body for body in (b"first", b"", b"the third is longer", b"4")
)


@pytest.mark.parametrize("size", range(1, len(FOUR_RESPONSES) + 1))
def test_responses_are_counted_where_they_end_however_they_are_cut(size: int) -> None:
    # Given
    counter = ResponseCounter()
    chunks = [FOUR_RESPONSES[start : start + size] for start in range(0, len(FOUR_RESPONSES), size)]

    # When
    counts = [counter.count(memoryview(chunk)) for chunk in chunks]

    # Then
    assert sum(counts) == 4
    assert counts[-1] >= 1, "the last response ends with the last byte"


def test_a_response_is_not_counted_before_its_last_byte() -> None:
    # Given
    counter = ResponseCounter()

    # When
    counts = [counter.count(memoryview(part)) for part in (b"\0\0", b"\0\3", b"ab", b"c\0")]

    # Then
    assert counts == [0, 0, 0, 1]
