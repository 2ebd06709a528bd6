"""Fetches of wide sessions that come together do not all begin, nor end, in one turn of the event loop."""

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import NotCoordinator
from kproxy.handlers.apis.share_fetch_answer import ShareFetchAnswer
from kproxy.handlers.fetching import fetch_starts
from kproxy.handlers.fetching.fetch_starts import FetchStarts
from kproxy.handlers.fetching.partition_looks import PartitionLooks
from kproxy.handlers.live import pauses
from kproxy.handlers.live.fetch_signals import HeardAvailability
from kproxy.handlers.live.pauses import MOST_AT_FIRST
from kproxy.handlers.ports import PartitionLeader
from kproxy.share.identifiers import GroupId, TopicId
from tests.in_memory.in_memory_cluster_metadata import InMemoryClusterMetadata
from tests.worlds.share_group_world import ORDERS, Member, ShareGroupWorld, acquired, partitions_of
from tests.worlds.waiting import until, until_all_wait

WIDTH = MOST_AT_FIRST + 10
"""How many partitions a wide session has here."""

SESSIONS = 8

ENDS = (HeardAvailability, "silence")


class Looks:
    """How many partitions had their leaders looked up in each turn of the loop: each fetch looks at all, first."""

    def __init__(self, metadata: InMemoryClusterMetadata) -> None:
        self.by_turn = Counter[int]()
        self._leader_of = metadata.leader_of
        self._turn = 0
        metadata.leader_of = self.leader_of  # type: ignore[method-assign]  # counts on its way

    def leader_of(self, topic_id: TopicId, partition: int) -> PartitionLeader | None:
        self.by_turn[self._turn] += 1
        return self._leader_of(topic_id, partition)

    async def count_turns(self) -> None:
        while True:
            await asyncio.sleep(0)
            self._turn += 1


async def members_of(world: ShareGroupWorld, *, width: int, count: int) -> list[Member]:
    world.metadata.create_topic("orders", ORDERS, partition_count=width)
    for number in range(width):
        await world.initialize(partition=number)
    members = [world.member(f"member-{number}") for number in range(count)]
    for member in members:
        await member.open(*((ORDERS, number) for number in range(width)))
    return members


async def looked_at_by_turn(world: ShareGroupWorld, members: list[Member]) -> list[int]:
    """Return how many partitions were looked at in each turn with such looks, when all of these fetch at once."""
    looks = Looks(world.metadata)
    async with asyncio.TaskGroup() as tasks:
        counting = tasks.create_task(looks.count_turns())
        await asyncio.gather(*(member.fetch(max_wait_ms=0) for member in members))
        counting.cancel()
    return list(looks.by_turn.values())


async def test_wide_sessions_that_fetch_together_do_not_all_begin_in_one_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(fetch_starts, "MOST_BEGUN", 2 * WIDTH)
    world = ShareGroupWorld()
    members = await members_of(world, width=WIDTH, count=SESSIONS)

    # When
    found = await looked_at_by_turn(world, members)

    # Then
    assert sum(found) >= WIDTH * SESSIONS
    assert max(found) <= 3 * WIDTH, "as many as may, and one that goes on"


async def test_narrow_sessions_that_fetch_together_begin_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    monkeypatch.setattr(fetch_starts, "MOST_BEGUN", 1)
    world = ShareGroupWorld()
    members = await members_of(world, width=2, count=SESSIONS)

    # When
    found = await looked_at_by_turn(world, members)

    # Then
    assert len(found) == 1


async def calls_by_turn(
    world: ShareGroupWorld,
    members: list[Member],
    end: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    *counted: tuple[type, str],
) -> list[int]:
    """Return how often methods were called in each turn, when all of these wait and then `end` is called."""
    by_turn, turn = Counter[int](), 0

    def count_calls(owner: type, name: str) -> None:
        method = getattr(owner, name)

        def counting_call(*terms: Any, **more: Any) -> Any:
            by_turn[turn] += 1
            return method(*terms, **more)

        monkeypatch.setattr(owner, name, counting_call)

    async def count_turns() -> None:
        nonlocal turn
        while True:
            await asyncio.sleep(0)
            turn += 1

    async with asyncio.TaskGroup() as tasks:
        counting = tasks.create_task(count_turns())
        fetches = [tasks.create_task(member.fetch()) for member in members]
        await until(lambda: len(world.groups.parked) == len(members))
        for owner, name in counted:
            count_calls(owner, name)
        end()
        await asyncio.gather(*fetches)
        counting.cancel()
    return list(by_turn.values())


def end_all(world: ShareGroupWorld) -> None:
    world.groups.parked.end()


def end_sessions(world: ShareGroupWorld) -> None:
    world.groups.end_sessions(world.groups.sessions.sessions())


@pytest.mark.parametrize("end", [end_all, end_sessions])
async def test_wide_sessions_whose_fetches_end_together_do_not_all_end_in_one_turn(
    end: Callable[[ShareGroupWorld], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    monkeypatch.setattr(fetch_starts, "MOST_BEGUN", 2 * WIDTH)
    world = ShareGroupWorld(passes_time=False)
    members = await members_of(world, width=WIDTH, count=SESSIONS)

    # When
    ended = await calls_by_turn(world, members, partial(end, world), monkeypatch, ENDS)

    # Then
    assert sum(ended) == SESSIONS
    assert max(ended) <= 2, "as many as may, and one that goes on"


def lose_slot(world: ShareGroupWorld) -> None:
    world.group_log.unreadiness = NotCoordinator("another process serves it")
    world.groups.discard_live([GroupId("g")])


async def test_wide_sessions_that_a_lost_slot_wakes_do_not_all_look_in_one_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(fetch_starts, "MOST_BEGUN", 2 * WIDTH)
    world = ShareGroupWorld(passes_time=False)
    members = await members_of(world, width=WIDTH, count=SESSIONS)

    # When
    looks = await calls_by_turn(
        world, members, partial(lose_slot, world), monkeypatch, (PartitionLooks, "begin")
    )

    # Then
    assert sum(looks) >= SESSIONS
    assert max(looks) <= 3, "as many as may, and one that goes on"


async def test_a_wide_session_leaves_its_partitions_in_another_turn_than_it_tells_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(fetch_starts, "MOST_BEGUN", 2)
    world = ShareGroupWorld(passes_time=False)
    members = await members_of(world, width=WIDTH, count=SESSIONS)
    tells = (ShareFetchAnswer, "add_fetched")

    # When
    ends = await calls_by_turn(world, members, partial(lose_slot, world), monkeypatch, ENDS, tells)

    # Then
    assert ends == [1] * 2 * SESSIONS


async def test_a_wide_session_that_is_woken_for_few_of_its_partitions_waits_in_no_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    (alice,) = await members_of(world, width=WIDTH, count=1)
    monkeypatch.setattr(pauses, "MOST_AT_FIRST", 10 * WIDTH)
    fetch = asyncio.get_running_loop().create_task(alice.fetch())
    await until(lambda: len(world.groups.parked) == 1)
    gone_on = pauses._long_work.gone_on_count
    world.produce(1)

    # When
    answer = await fetch

    # Then
    assert acquired(answer) == [(0, 0, 1)]
    assert pauses._long_work.gone_on_count == gone_on


async def test_records_of_a_session_that_is_over_when_its_fetch_ends_are_not_delivered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(fetch_starts, "MOST_BEGUN", 1)
    world = ShareGroupWorld(passes_time=False)
    (alice,) = await members_of(world, width=WIDTH, count=1)
    fetch = asyncio.get_running_loop().create_task(alice.fetch())
    await until(lambda: len(world.groups.parked) == 1)
    world.produce(1)
    while not world.groups.in_flight_count:  # noqa: ASYNC110 - in the very turn in which it is acquired
        await asyncio.sleep(0)

    # When
    world.groups.end_sessions(world.groups.sessions.sessions())
    answer = await fetch

    # Then
    assert not acquired(answer)


async def test_one_that_begins_alone_is_not_paused(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    monkeypatch.setattr(fetch_starts, "MOST_BEGUN", WIDTH + 1)
    start = FetchStarts().begin(WIDTH)

    # When
    with pytest.raises(StopIteration):
        start.send(None)


async def test_of_a_session_that_ends_before_its_fetch_begins_nothing_is_acquired(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(fetch_starts, "MOST_BEGUN", 1)
    world = ShareGroupWorld()
    (alice,) = await members_of(world, width=WIDTH, count=1)
    world.produce(1)
    fetch = asyncio.get_running_loop().create_task(alice.fetch(max_wait_ms=500))

    # When
    await alice.disconnect()
    answer = await fetch
    await until_all_wait()

    # Then
    assert answer.error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert world.groups.in_flight_count == 0


async def test_what_a_wide_session_acknowledges_takes_effect_before_its_fetch_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(fetch_starts, "MOST_BEGUN", 1)
    world = ShareGroupWorld()
    (alice,) = await members_of(world, width=WIDTH, count=1)
    world.produce(1)
    assert acquired(await alice.fetch())

    # When
    answer = await alice.fetch(acks={(ORDERS, 0): [(0, 0, [1])]}, max_wait_ms=0)

    # Then
    assert partitions_of(answer)[ORDERS, 0].acknowledge_error_code == ErrorCode.NONE
    live = world.groups.directory.find(world.key())
    assert live is not None
    assert live.start_offset == 1
