"""Windows with a record batch so wide that members could cut it into more pieces than one turn of the loop may take."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import InvalidRecordState, InvalidRequest
from kproxy.share import share_partition as share_partition_module
from kproxy.share.offset_ranges import MOST_RUNS, MOST_RUNS_AT_ONCE
from kproxy.share.record_state import RecordState
from kproxy.share.share_partition import SharePartition
from kproxy.share.state_batches import StateBatch
from tests.worlds.share_builders import (
    ACCEPT,
    ALICE,
    BOB,
    REJECT,
    RELEASE,
    RENEW,
    SaidBatch,
    a_share_partition,
    fetch,
    in_flight,
    say,
)
from tests.worlds.share_group_world import (
    ORDERS,
    Member,
    ShareGroupWorld,
    acknowledge_errors,
    acquired,
    world_with_orders,
)
from tests.worlds.waiting import until_all_wait

RECORD_COUNT = 30_000
LAST = RECORD_COUNT - 1


def a_wide_window() -> SharePartition:
    """All of one record batch, which Alice holds."""
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, LAST))
    return share_partition


def alternating(first_offset: int, last_offset: int, *types: int) -> SaidBatch:
    """What is said of every offset, `types` in turn."""
    count = last_offset - first_offset + 1
    return SaidBatch(first_offset, last_offset, [types[place % len(types)] for place in range(count)])


def one_by_one(offsets: Iterable[int], acknowledge_type: int) -> list[SaidBatch]:
    """A batch for each offset."""
    return [SaidBatch(offset, offset, [acknowledge_type]) for offset in offsets]


@pytest.mark.parametrize(
    "batches",
    [
        pytest.param([alternating(0, LAST, RELEASE, ACCEPT)], id="of one batch"),
        pytest.param([alternating(0, LAST, REJECT, ACCEPT)], id="done with from the start on"),
        pytest.param(one_by_one(range(1, LAST, 2), ACCEPT), id="of a batch for each"),
        pytest.param(one_by_one(range(1, LAST, 2), RENEW), id="renewed"),
        pytest.param([alternating(1, LAST - 1, RENEW, ACCEPT)], id="renewed in one batch"),
        pytest.param(
            [*one_by_one(range(1, 6_001, 2), RENEW), alternating(6_001, LAST - 1, RENEW, ACCEPT)],
            id="renewed before what is too much",
        ),
        pytest.param(
            [*one_by_one(range(1, LAST, 2), RENEW), *say(LAST, LAST + 1, ACCEPT)], id="left renewed"
        ),
    ],
)
def test_an_acknowledgement_that_cuts_a_window_into_very_many_runs_changes_nothing(
    batches: list[SaidBatch],
) -> None:
    # Given
    share_partition = a_wide_window()
    before = share_partition.view()

    # When
    with pytest.raises(InvalidRequest, match=r"runs of offsets") as refusal:
        share_partition.acknowledge(ALICE, batches, now_ms=1)

    # Then
    assert refusal.value.error_code is ErrorCode.INVALID_REQUEST
    assert share_partition.view() == before


def test_no_window_within_its_limit_is_refused_anything() -> None:
    """`share.partition.max.record.locks` is 10,000 at most."""
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9_999))

    # When
    delta = share_partition.acknowledge(ALICE, [alternating(0, 9_999, RELEASE, ACCEPT)], now_ms=1)

    # Then
    assert (len(delta.batches), share_partition.run_count) == (10_000, 10_000)


def test_several_requests_from_the_start_on_do_what_was_too_much_for_one() -> None:
    # Given
    share_partition = a_wide_window()

    # When
    counts = [
        len(
            share_partition.acknowledge(
                ALICE, [alternating(first_offset, first_offset + 9_999, REJECT, ACCEPT)], now_ms=1
            ).batches
        )
        for first_offset in range(0, RECORD_COUNT, 10_000)
    ]

    # Then
    assert counts == [10_000, 10_000, 10_000]
    assert (share_partition.start_offset, share_partition.in_flight_count) == (RECORD_COUNT, 0)


def test_a_window_that_is_cut_into_as_many_runs_as_it_may_be_goes_on_from_its_start() -> None:
    """Released records are given out and accepted, what is left is accepted as a whole: neither cuts anything."""
    # Given
    share_partition = a_wide_window()
    share_partition.acknowledge(ALICE, [alternating(0, MOST_RUNS - 2, RELEASE, ACCEPT)], now_ms=1)
    with pytest.raises(InvalidRequest, match="acknowledge from offset 0 on first"):
        share_partition.acknowledge(ALICE, [alternating(20_000, 20_999, ACCEPT, RELEASE)], now_ms=2)

    # When
    again = fetch(share_partition, BOB, (0, LAST), max_records=100_000)
    share_partition.acknowledge(BOB, one_by_one((run.first_offset for run in again), ACCEPT), now_ms=3)

    # Then
    assert in_flight(share_partition) == [(MOST_RUNS - 1, LAST, "ACQUIRED", 1)]

    # When
    delta = share_partition.acknowledge(ALICE, say(MOST_RUNS - 1, LAST, ACCEPT), now_ms=4)

    # Then
    assert delta.batches == (StateBatch(MOST_RUNS - 1, LAST, RecordState.ACKNOWLEDGED, 1),)
    assert share_partition.in_flight_count == 0


def test_what_is_renewed_before_a_refusal_stays_renewed_where_it_cuts_few_runs() -> None:
    # Given
    share_partition = a_wide_window()

    # When
    with pytest.raises(InvalidRequest, match="was never acquired"):
        share_partition.acknowledge(
            ALICE, [*one_by_one(range(1, 2_001, 2), RENEW), *say(LAST, LAST + 1, ACCEPT)], now_ms=500
        )

    # Then
    assert share_partition.run_count == 2_001
    with pytest.raises(InvalidRecordState, match="lock of offset 0 ran out"):
        share_partition.acknowledge(ALICE, say(0, 1, ACCEPT), now_ms=30_000)
    share_partition.acknowledge(ALICE, say(1, 1, ACCEPT), now_ms=30_000)


def test_nothing_is_acquired_from_a_window_in_too_many_pieces_until_all_that_is_held_is_settled() -> None:
    """Each fetch with a strict limit cuts a run, and what is acknowledged behind it need not."""
    # Given
    share_partition = a_wide_window()
    share_partition.acknowledge(ALICE, [alternating(0, MOST_RUNS - 2, ACCEPT, RELEASE)], now_ms=1)
    share_partition.acknowledge(ALICE, say(MOST_RUNS - 1, LAST, RELEASE), now_ms=1)
    fetch(share_partition, ALICE, (0, LAST), max_records=MOST_RUNS // 2, is_record_limit=True)
    fetched = 0
    while share_partition.can_acquire():
        fetch(share_partition, BOB, (0, LAST), max_records=1, is_record_limit=True)
        fetched += 1

    # When
    refused = fetch(share_partition, BOB, (0, LAST), max_records=1, is_record_limit=True)

    # Then
    assert refused == []
    assert fetched <= MOST_RUNS_AT_ONCE
    assert share_partition.run_count == MOST_RUNS_AT_ONCE

    # When
    share_partition.release(BOB)
    share_partition.release(ALICE)

    # Then
    assert share_partition.can_acquire()
    assert len(fetch(share_partition, BOB, (0, LAST), max_records=1, is_record_limit=True)) == 1


def a_window_in_too_many_pieces() -> SharePartition:
    """Bob has acquired what cut it, one record after the other; some of the rest is available."""
    share_partition = a_wide_window()
    share_partition.acknowledge(ALICE, [alternating(0, MOST_RUNS - 2, ACCEPT, RELEASE)], now_ms=1)
    share_partition.acknowledge(ALICE, say(MOST_RUNS - 1, LAST, RELEASE), now_ms=1)
    while share_partition.can_acquire():
        fetch(share_partition, BOB, (0, LAST), max_records=1, is_record_limit=True)
    return share_partition


def test_nothing_is_renewed_that_leaves_a_window_in_too_many_pieces_so_that_its_locks_end() -> None:
    # Given
    share_partition = a_window_in_too_many_pieces()
    held = [run.first_offset for run in share_partition.view().ranges if run.state is RecordState.ACQUIRED]

    # When
    with pytest.raises(InvalidRequest, match="renew no lock before that"):
        share_partition.acknowledge(BOB, say(held[0], held[0], RENEW), now_ms=20_000)
    share_partition.expire_locks(30_000)

    # Then
    assert share_partition.can_acquire()


def test_what_is_renewed_may_leave_a_window_in_few_pieces_again() -> None:
    """Records of one lock that follow each other are one run."""
    # Given
    share_partition = a_wide_window()
    share_partition.acknowledge(ALICE, say(0, LAST, RELEASE), now_ms=1)
    while share_partition.can_acquire():
        fetch(share_partition, BOB, (0, LAST), max_records=1, is_record_limit=True)
    last_held = max(
        run.last_offset for run in share_partition.view().ranges if run.state is RecordState.ACQUIRED
    )

    # When
    share_partition.acknowledge(BOB, say(0, last_held, RENEW), now_ms=2)

    # Then
    assert share_partition.run_count == 2
    assert share_partition.can_acquire()


async def test_a_member_is_told_why_its_acknowledgement_is_too_much_and_the_partitions_beside_it_are_acknowledged() -> (
    None
):
    # Given
    world = await world_with_orders()
    alice = world.member()
    await alice.open()
    world.produce(RECORD_COUNT)
    assert acquired(await alice.fetch()) == [(0, LAST, 1)]
    types = [RELEASE, ACCEPT] * (RECORD_COUNT // 2)

    # When
    answer = await alice.acknowledge({(ORDERS, 0): [(0, LAST, types)]})

    # Then
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.INVALID_REQUEST}
    assert "acknowledge this partition in several requests" in str(answer)
    state = world.state_log.state(world.key())
    assert state is not None
    assert not state.state_batches

    # When
    answer = await alice.acknowledge({(ORDERS, 0): [(0, MOST_RUNS - 2, types[: MOST_RUNS - 1])]})

    # Then
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.NONE}


async def settle_all(_world: ShareGroupWorld, member: Member) -> None:
    await member.acknowledge({(ORDERS, 0): [(0, 0, [ACCEPT]), (2, 2, [RELEASE]), (4, 9, [ACCEPT])]})


async def lose_the_connection(_world: ShareGroupWorld, member: Member) -> None:
    await member.disconnect()


async def let_locks_end(world: ShareGroupWorld, _member: Member) -> None:
    world.clock.advance(30_000)
    await world.expire()


@pytest.mark.parametrize("let_go", [settle_all, lose_the_connection, let_locks_end])
async def test_who_waits_for_a_window_in_too_many_pieces_is_woken_when_nothing_of_it_is_held(
    monkeypatch: pytest.MonkeyPatch, let_go: Callable[[ShareGroupWorld, Member], Awaitable[None]]
) -> None:
    # Given
    monkeypatch.setattr(share_partition_module, "MOST_RUNS_AT_ONCE", 4)
    world = await world_with_orders(passes_time=False)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open()
    await bob.open()
    world.produce(10)
    await alice.fetch()
    await alice.acknowledge({(ORDERS, 0): [(1, 1, [ACCEPT]), (3, 3, [RELEASE])]})

    # When
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(bob.fetch(max_wait_ms=100_000))
        await until_all_wait()
        is_woken_before = waiting.done()
        await let_go(world, alice)

    # Then
    assert not is_woken_before
    assert (3, 3, 2) in [
        (offset, offset, count)
        for first, last, count in acquired(waiting.result())
        for offset in range(first, last + 1)
    ]
