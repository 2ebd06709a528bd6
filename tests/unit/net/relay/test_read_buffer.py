"""How much is read of a broker's socket at once."""

import asyncio

from kproxy.net.relay.buffer_budget import BufferBudget
from kproxy.net.relay.read_buffer import READ_BYTES, SPARING_READ_BYTES, ReadBuffer

LIMIT_BYTES = 100_000


async def test_there_is_little_room_where_the_budget_is_used_up_and_all_of_it_when_that_is_over() -> None:
    # Given
    budget = BufferBudget(LIMIT_BYTES)
    reads = ReadBuffer(budget)

    # When
    rooms = [len(reads.room())]
    budget.note_waiting("slow peer", LIMIT_BYTES + 1)
    rooms.append(len(reads.room()))
    budget.note_waiting("slow peer", 0)
    rooms.append(len(reads.room()))

    # Then
    assert rooms == [READ_BYTES, SPARING_READ_BYTES, READ_BYTES]


async def test_what_is_read_in_one_turn_of_the_loop_counts_until_the_next() -> None:
    # Given
    budget = BufferBudget(LIMIT_BYTES)
    reads = ReadBuffer(budget)

    # When
    rooms = []
    for _ in range(3):
        reads.taken(60_000)
        rooms.append(len(reads.room()))
    of_this_turn = budget.held_bytes
    await asyncio.sleep(0)

    # Then
    assert rooms == [READ_BYTES, SPARING_READ_BYTES, SPARING_READ_BYTES]
    assert (of_this_turn, budget.held_bytes) == (180_000, 0)


async def test_what_was_taken_stays_when_another_is_read() -> None:
    # Given
    reads = ReadBuffer(BufferBudget(LIMIT_BYTES))
    reads.room()[:5] = b"first"
    first = reads.taken(5)

    # When
    reads.room()[:6] = b"second"

    # Then
    assert (first, reads.taken(6)) == (b"first", b"second")
