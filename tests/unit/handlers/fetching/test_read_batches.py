"""Record batches of one read: how far they are looked at, and how many bytes the log has."""

from kproxy.handlers.fetching.read_batches import LEAST_WORK_IF_CUT, MOST_UNCUT, ReadBatches
from tests.in_memory.record_batch_bytes import record_batch


def batches_of_two(count: int) -> bytes:
    return b"".join(record_batch(2 * number, [b"x", b"x"]) for number in range(count))


NO_BATCH = bytes(100)


def test_batches_are_looked_at_up_to_the_last_wanted_offset() -> None:
    # When
    batches = ReadBatches(memoryview(batches_of_two(5)), 1, offset_count=4)

    # Then
    assert [(each.first_offset, each.last_offset) for each in batches.extents] == [(0, 1), (2, 3), (4, 5)]
    assert batches.offset_count == 6


def test_offsets_are_counted_from_the_first_batch_where_it_begins_above_the_offset_of_the_read() -> None:
    # When
    batches = ReadBatches(
        memoryview(record_batch(1_000, [b"x"]) + record_batch(1_001, [b"x"])), 0, offset_count=2
    )

    # Then
    assert [each.first_offset for each in batches.extents] == [1_000, 1_001]


def test_the_first_batch_is_looked_at_although_no_offset_is_wanted() -> None:
    # When
    batches = ReadBatches(memoryview(batches_of_two(2)), 0, offset_count=0)

    # Then
    assert len(batches.extents) == 1


def test_what_lies_behind_the_wanted_offsets_is_not_judged() -> None:
    # When
    batches = ReadBatches(memoryview(batches_of_two(2) + NO_BATCH), 0, offset_count=4)

    # Then
    assert (len(batches.extents), batches.malformed) == (2, "")


def test_batches_end_before_one_of_another_format_and_say_why() -> None:
    # When
    batches = ReadBatches(memoryview(batches_of_two(2) + NO_BATCH), 0, offset_count=5)

    # Then
    assert len(batches.extents) == 2
    assert "magic 0" in batches.malformed


def test_what_was_not_looked_at_is_taken_to_be_like_what_was() -> None:
    # Given
    encoded = batches_of_two(5)

    # When
    batches = ReadBatches(memoryview(encoded), 0, offset_count=4)

    # Then
    assert batches.size_bytes == len(encoded) * 2 // 5
    assert batches.bytes_in_log(10) == len(encoded)
    assert batches.bytes_in_log(100) == 10 * len(encoded)


def test_a_log_without_a_whole_batch_has_no_bytes_that_are_known() -> None:
    # When
    batches = ReadBatches(memoryview(batches_of_two(1)[:-1]), 0, offset_count=4)

    # Then
    assert (batches.size_bytes, batches.bytes_in_log(100)) == (0, 0)


def test_many_small_batches_are_as_much_work_as_many_share_partitions() -> None:
    # When
    work = [
        ReadBatches(memoryview(batches_of_two(count)), 0, offset_count=2_000).work for count in (0, 1, 160)
    ]

    # Then
    assert work == [1, 1, 11]


def test_what_was_cut_is_looked_at_to_the_same_batch_later() -> None:
    # Given
    records = memoryview(batches_of_two(6))
    whole = ReadBatches(records, 1, offset_count=6)

    # When
    batches = ReadBatches(records, 1, offset_count=6, most=2)
    seen = (batches.is_cut, len(batches.extents))
    batches.look_on()

    # Then
    assert seen == (True, 2)
    assert (batches.is_cut, batches.extents) == (False, whole.extents)


def test_what_is_malformed_behind_the_cut_is_found_later() -> None:
    # Given
    batches = ReadBatches(memoryview(batches_of_two(2) + NO_BATCH), 0, offset_count=5, most=2)
    before = batches.malformed

    # When
    batches.look_on()

    # Then
    assert (before, len(batches.extents)) == ("", 2)
    assert "magic 0" in batches.malformed


def test_the_work_of_both_pieces_is_the_work_of_the_whole() -> None:
    # Given
    batches = ReadBatches(memoryview(batches_of_two(160)), 0, offset_count=2_000, most=MOST_UNCUT)
    begun_work = batches.work

    # When
    work = begun_work + batches.look_on()

    # Then
    assert begun_work == LEAST_WORK_IF_CUT
    assert (work, batches.look_on()) == (11, 0)
