"""What buffers keep: small slices of large reads are copied, others are sent on as they are."""

from kproxy.net.relay.memory.answer_memory import cut_free, surplus_bytes

READ = bytes(bytearray(range(256)) * 4)


def test_a_small_slice_of_a_large_read_is_copied() -> None:
    buffers = cut_free([b"head", memoryview(READ)[10:20]])

    assert buffers == [b"head", READ[10:20]]
    assert surplus_bytes(buffers) == 0


def test_a_slice_that_is_most_of_a_read_is_no_copy() -> None:
    records = memoryview(READ)[100:900]

    [kept] = cut_free([records])

    assert kept is records


def test_many_small_slices_that_are_most_of_a_read_together_are_no_copies() -> None:
    """As of a read of many partitions."""
    slices: list[bytes | memoryview] = [
        memoryview(READ)[position : position + 100] for position in range(0, 1000, 100)
    ]

    kept = cut_free(slices)

    assert all(one is other for one, other in zip(kept, slices, strict=True))


def test_an_answer_in_memory_twice_its_size_is_no_copy() -> None:
    """As `ReadBuffers` lends it, with some bytes around the records."""
    records = memoryview(bytearray(4096))[:2048][60:]

    assert cut_free([records])[0] is records


def test_what_buffers_keep_beside_their_own_bytes_counts_each_memory_once() -> None:
    slices: list[bytes | memoryview] = [
        memoryview(READ)[:100],
        memoryview(READ)[500:600],
        memoryview(bytes(50))[:20],
        b"bytes",
    ]

    assert surplus_bytes(slices) == 1024 - 200 + 30
