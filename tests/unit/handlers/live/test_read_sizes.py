"""How many bytes to ask for when a number of records is wanted."""

from kproxy.handlers.live.read_sizes import FIRST_READ_BYTES, SMALLEST_READ_BYTES, ReadSize


def test_before_anything_is_known_a_mebibyte_is_read() -> None:
    # When
    size = ReadSize()

    # Then
    assert size.bytes_for(1) == FIRST_READ_BYTES == 1_048_576


def test_records_of_a_kibibyte_are_read_with_some_headroom() -> None:
    # Given
    size = ReadSize()

    # When
    size.observe(size_bytes=1_024_000, offset_count=1_000)

    # Then
    assert size.bytes_for(500) == 537_600


def test_a_few_small_records_are_not_worth_a_smaller_read() -> None:
    # Given
    size = ReadSize()

    # When
    size.observe(size_bytes=1_000, offset_count=100)

    # Then
    assert size.bytes_for(10) == SMALLEST_READ_BYTES == 65_536


def test_newer_reads_move_the_average() -> None:
    # Given
    size = ReadSize()
    size.observe(size_bytes=1_000_000, offset_count=1_000)

    # When
    size.observe(size_bytes=2_000_000, offset_count=1_000)

    # Then
    assert size.bytes_for(1_000) == 1_365_000


def test_a_read_that_found_nothing_teaches_nothing() -> None:
    # Given
    size = ReadSize()

    # When
    size.observe(size_bytes=0, offset_count=0)

    # Then
    assert size.bytes_for(1) == FIRST_READ_BYTES
