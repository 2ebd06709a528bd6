"""Groups that read committed records only: what they are given, what they wait for, and changes on a live group."""

import asyncio
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from kproxy.error_codes import ErrorCode
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.share.limits import ShareLimits
from tests.worlds.share_group_world import (
    ORDERS,
    Member,
    ShareGroupWorld,
    acknowledge_errors,
    acquired,
    world_with_orders,
)
from tests.worlds.waiting import until_all_wait

ISOLATION = "share.isolation.level"
GAP, ACCEPT, RELEASE = 0, 1, 2


async def a_committed_world(
    *, passes_time: bool = True, limits: ShareGroupLimits | None = None
) -> tuple[ShareGroupWorld, Member]:
    """A group `g` that reads committed records, and a member of it with an open session."""
    world = await world_with_orders(passes_time=passes_time, limits=limits)
    world.configure(ISOLATION, "read_committed")
    alice = world.member()
    await alice.open()
    return world, alice


def write(world: ShareGroupWorld, record_count: int, *, producer_id: int = 1) -> None:
    """Append one batch in a transaction, which begins with it if none is open."""
    world.log().append_in_transaction([b"x" * 8] * record_count, producer_id=producer_id)
    world.tell_of_records()


def start_offset(world: ShareGroupWorld) -> int:
    """Where the share-partition of the group begins."""
    live = world.groups.directory.find(world.key())
    assert live is not None
    return live.start_offset


def end(world: ShareGroupWorld, *, is_commit: bool, producer_id: int = 1) -> None:
    """Commit or abort the transaction."""
    world.log().end_transaction(producer_id=producer_id, is_commit=is_commit)
    world.tell_of_records()


# ---- what is delivered


async def test_records_of_an_aborted_transaction_are_not_acquired_and_the_start_offset_passes_them() -> None:
    """Case 66. The markers at 5 and 11 are acquired as on a stock broker: clients say GAP of them (case 68)."""
    # Given
    world, alice = await a_committed_world()
    write(world, 5)
    end(world, is_commit=False)
    write(world, 5)
    end(world, is_commit=True)

    # When
    answer = await alice.fetch()
    accepted = await alice.acknowledge({(ORDERS, 0): [(5, 5, [GAP]), (6, 11, [ACCEPT] * 5 + [GAP])]})

    # Then
    assert acquired(answer) == [(5, 11, 1)]
    assert acknowledge_errors(accepted) == {(ORDERS, 0): ErrorCode.NONE}
    assert start_offset(world) == 12


async def test_an_aborted_batch_between_committed_ones_splits_what_is_acquired() -> None:
    # Given
    world, alice = await a_committed_world()
    world.produce(3)
    write(world, 2)
    world.produce(3)
    end(world, is_commit=False)

    # When
    answer = await alice.fetch()

    # Then
    assert acquired(answer) == [(0, 2, 1), (5, 8, 1)]


async def test_a_group_that_reads_uncommitted_records_is_given_aborted_ones() -> None:
    """Case 67."""
    # Given
    world, _ = await a_committed_world()
    await world.initialize("h")
    write(world, 5)
    end(world, is_commit=False)
    bob = world.member("bob", group_id="h")

    # When
    answer = await bob.open(max_records=100, max_wait_ms=500)

    # Then
    assert acquired(answer) == [(0, 5, 1)]


async def test_a_fetch_that_finds_aborted_records_alone_is_answered_at_once_as_by_a_stock_broker() -> None:
    # Given
    world, alice = await a_committed_world()
    write(world, 5)
    end(world, is_commit=False)
    world.produce(2)

    # When
    answers = [await alice.fetch(max_records=1), await alice.fetch(max_records=1)]

    # Then
    assert [acquired(answer) for answer in answers] == [[], [(5, 5, 1)]]
    assert world.clock.now_ms() == 1_000


async def test_more_aborted_records_than_fit_into_the_window_do_not_stop_a_group() -> None:
    # Given
    limits = ShareGroupLimits(share=ShareLimits(partition_max_record_locks=100))
    world, alice = await a_committed_world(limits=limits)
    for _ in range(5):
        write(world, 50)
        end(world, is_commit=False)
    world.produce(7)
    given = list[tuple[int, int, int]]()

    # When
    while not given or given[-1][1] < 261:
        answer = await alice.fetch(max_wait_ms=500)
        given += acquired(answer)
        await alice.acknowledge(
            {(ORDERS, 0): [(first, last, [ACCEPT]) for first, last, _ in acquired(answer)]}
        )

    # Then
    assert [offset for first, last, _ in given for offset in range(first, last + 1)] == [
        *(50, 101, 152, 203, 254),
        *range(255, 262),
    ]


# ---- what is waited for


async def test_an_open_transaction_holds_back_what_lies_behind_it_and_its_end_wakes_the_fetch() -> None:
    # Given
    world, alice = await a_committed_world(passes_time=False)
    world.produce(2)
    write(world, 3)
    world.produce(4)
    first = await alice.fetch()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(max_wait_ms=60_000))
        await until_all_wait()
        waited_for = world.availability.waits[-1][0]
        reads_before = len(world.reader.reads)
        world.produce(1)
        await until_all_wait()
        reads_meanwhile = len(world.reader.reads) - reads_before
        end(world, is_commit=True)

    # Then
    assert acquired(first) == [(0, 1, 1)]
    assert waited_for == {world.key(): 2}
    assert reads_meanwhile == 0
    assert acquired(fetch.result()) == [(2, 10, 1)]


async def test_a_fetch_of_uncommitted_records_that_waits_is_woken_when_its_group_is_told_to_read_them() -> (
    None
):
    # Given
    world, alice = await a_committed_world(passes_time=False)
    write(world, 3)

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(max_wait_ms=60_000))
        await until_all_wait()
        world.configure(ISOLATION, "read_uncommitted")

    # Then
    assert acquired(fetch.result()) == [(0, 2, 1)]


# ---- changes on a live group


async def test_records_that_were_released_before_the_group_reads_committed_ones_are_judged_anew() -> None:
    # Given
    world = await world_with_orders()
    alice = world.member()
    await alice.open()
    write(world, 3)
    world.produce(2)
    end(world, is_commit=False)
    before = await alice.fetch()
    await alice.acknowledge({(ORDERS, 0): [(0, 5, [RELEASE])]})

    # When
    world.configure(ISOLATION, "read_committed")
    after = await alice.fetch()

    # Then
    assert acquired(before) == [(0, 5, 1)]
    assert acquired(after) == [(3, 5, 2)]


async def test_records_of_an_open_transaction_that_were_released_wait_for_its_end() -> None:
    # Given
    world = await world_with_orders(passes_time=False)
    alice = world.member()
    await alice.open()
    write(world, 3)
    await alice.fetch()
    await alice.acknowledge({(ORDERS, 0): [(0, 2, [RELEASE])]})
    world.configure(ISOLATION, "read_committed")

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(max_wait_ms=60_000))
        await until_all_wait()
        reads_before = len(world.reader.reads)
        await until_all_wait()
        reads_while_open = len(world.reader.reads) - reads_before
        end(world, is_commit=True)

    # Then
    assert reads_while_open == 0
    assert acquired(fetch.result()) == [(0, 2, 2), (3, 3, 1)]


async def test_what_was_archived_as_aborted_does_not_come_back_with_uncommitted_reads() -> None:
    # Given
    world, alice = await a_committed_world()
    write(world, 3)
    end(world, is_commit=False)
    before = await alice.fetch()
    await alice.acknowledge({(ORDERS, 0): [(3, 3, [GAP])]})

    # When
    world.configure(ISOLATION, "read_uncommitted")
    after = await alice.fetch(max_wait_ms=500)

    # Then
    assert (acquired(before), acquired(after)) == ([(3, 3, 1)], [])


async def test_each_group_reads_as_it_is_configured() -> None:
    # Given
    world, alice = await a_committed_world()
    await world.initialize("h")
    bob = world.member("bob", group_id="h")
    await bob.open()
    world.produce(1)
    write(world, 2)

    # When
    committed, uncommitted = await alice.fetch(), await bob.fetch()

    # Then
    assert (acquired(committed), acquired(uncommitted)) == ([(0, 0, 1)], [(0, 2, 1)])


# ---- any history


@dataclass(frozen=True)
class Step:
    """What happens next in a topic, or to the group that reads it."""

    what: str
    producer_id: int = 0
    count: int = 1


STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(["plain", "transactional", "transactional", "commit", "abort", "accept", "release"]),
        st.integers(1, 3),
        st.integers(1, 4),
    ),
    max_size=30,
)


class History:
    """A topic that is written step by step, and a member that reads it meanwhile."""

    def __init__(self, world: ShareGroupWorld, alice: Member, *, max_records: int, mode: int) -> None:
        self.world = world
        self.alice = alice
        self.max_records = max_records
        self.mode = mode
        self.open: dict[int, set[int]] = {}
        self.committed, self.markers, self.aborted = set[int](), set[int](), set[int]()
        self.accepted: set[int] = set()

    async def take(self, step: Step) -> None:
        """Do it, if it can be done."""
        first = self.world.log().end_offset
        match step.what:
            case "plain":
                self.world.produce(step.count)
                self.committed.update(range(first, first + step.count))
            case "transactional":
                write(self.world, step.count, producer_id=step.producer_id)
                self.open.setdefault(step.producer_id, set()).update(range(first, first + step.count))
            case "commit" | "abort" if step.producer_id in self.open:
                self.end(step.producer_id, is_commit=step.what == "commit")
            case "accept":
                await self.read(ACCEPT)
            case "release":
                await self.read(RELEASE)
            case _:
                pass

    def end(self, producer_id: int, *, is_commit: bool) -> None:
        """End a transaction; its records are now one or the other."""
        self.markers.add(self.world.log().end_offset)
        end(self.world, producer_id=producer_id, is_commit=is_commit)
        (self.committed if is_commit else self.aborted).update(self.open.pop(producer_id))

    async def read(self, acknowledge_type: int) -> None:
        """Fetch, and say the same of everything that comes."""
        answer = await self.alice.fetch(max_wait_ms=0, max_records=self.max_records, mode=self.mode)
        runs = acquired(answer)
        given = {offset for first, last, _ in runs for offset in range(first, last + 1)}
        assert not given & self.aborted
        assert not given & set().union(*self.open.values())
        answers = await self.alice.acknowledge(
            {(ORDERS, 0): [(first, last, [acknowledge_type]) for first, last, _ in runs]}
        )
        assert set(acknowledge_errors(answers).values()) <= {ErrorCode.NONE}
        if acknowledge_type == ACCEPT:
            assert not given & self.accepted
            self.accepted |= given


@settings(max_examples=100)
@given(steps=STEPS, max_records=st.sampled_from([1, 3, 100]), mode=st.sampled_from([0, 1]))
def test_a_group_is_given_every_committed_record_and_no_other(
    steps: list[Step], max_records: int, mode: int
) -> None:
    # When
    history = asyncio.run(read_to_the_end(steps, max_records, mode))

    # Then
    assert history.accepted == history.committed | history.markers


async def read_to_the_end(steps: list[Step], max_records: int, mode: int) -> History:
    """Return a history after its last transaction was committed and everything was read."""
    limits = ShareGroupLimits(share=ShareLimits(delivery_count_limit=100))
    history = History(*await a_committed_world(limits=limits), max_records=max_records, mode=mode)
    for step in steps:
        await history.take(step)
    for producer_id in tuple(history.open):
        history.end(producer_id, is_commit=True)
    for _ in range(2 * history.world.log().end_offset + 2):
        await history.read(ACCEPT)
    return history
