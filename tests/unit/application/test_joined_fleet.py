"""A process in its fleet: what it tells of itself, what becomes of slots, and which other process serves a group."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import pytest

from kproxy.application.joined_fleet import FleetSeat, JoinedFleet
from kproxy.error_codes import ErrorCode
from kproxy.fleet.member_metadata import MemberProfile
from kproxy.fleet.member_state import MemberState
from kproxy.fleet.owners import Peer
from kproxy.net.deadlines import SystemWallClock
from kproxy.net.fleet.lease_clock import LeaseClock
from kproxy.net.fleet.process_lock import ProcessLock
from kproxy.net.state_log.slots import StateSlots
from kproxy.settings import HostPort
from kproxy.statelog.claims import NO_MAP_EPOCH
from kproxy.telemetry.metrics import Metrics
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.leave_group_response import LeaveGroupResponse
from tests.event_loops import async_fixture
from tests.in_memory.in_memory_fleet_cluster import InMemoryFleetCluster
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.fleet_members import end_like_its_process
from tests.worlds.state_logs import SLOT_COUNT, STATE, StateLogBacking, create_state_topics, group_of_slot
from tests.worlds.waiting import until

ALL = frozenset(range(SLOT_COUNT))


@dataclass
class Kproxy:
    """A process as far as its fleet and its slots go."""

    backing: StateLogBacking
    fleet: JoinedFleet
    slots: StateSlots
    metrics: Metrics

    @property
    def served(self) -> frozenset[int]:
        """The slots that it serves."""
        return frozenset(
            slot.number for slot in self.slots.all() if slot.is_ready and self.fleet.may_serve(slot.number)
        )


@async_fixture
async def cluster() -> AsyncIterator[ScriptedStateLog]:
    """A cluster that has the state topics, and coordinates a fleet."""
    async with ScriptedStateLog() as cluster, InMemoryFleetCluster(within=cluster, group_id=STATE):
        create_state_topics(cluster)
        yield cluster


@async_fixture
async def one(cluster: ScriptedStateLog) -> AsyncIterator[Kproxy]:
    """A process that has not joined."""
    async with StateLogBacking(cluster) as backing:
        yield await a_kproxy(backing, "one", HostPort("127.0.0.1", 1))


@async_fixture
async def two(cluster: ScriptedStateLog) -> AsyncIterator[Kproxy]:
    """Another one."""
    async with StateLogBacking(cluster) as backing:
        yield await a_kproxy(backing, "two", HostPort("127.0.0.1", 2))


async def a_kproxy(backing: StateLogBacking, name: str, address: HostPort) -> Kproxy:
    """Return a process that has not joined."""
    metrics = Metrics()
    fleet = JoinedFleet(
        FleetSeat(STATE, STATE, name, f"token of {name}", 6_000),
        address=lambda: address,
        reach=EverybodyIsReached(),
        metadata=backing.metadata,
        connections=backing.connections,
        wall_clock=SystemWallClock(),
        tasks=backing.tasks,
        counting=metrics,
    )
    backing.fleet = fleet  # type: ignore[assignment]  # the slots are to have the real one
    slots = backing.idle_slots(backing.claims(await backing.found(), owner=name), SLOT_COUNT)
    return Kproxy(backing, fleet, slots, metrics)


class EverybodyIsReached:
    """A `Reach` that dials nobody."""

    async def unreachable(self, profiles: Mapping[str, MemberProfile]) -> Mapping[str, str]:
        """Find everybody."""
        del profiles
        return {}


async def both_serve(one: Kproxy, two: Kproxy) -> None:
    """Let both join, and return when each serves its part."""
    for kproxy in (one, two):
        await kproxy.fleet.join(kproxy.slots, SLOT_COUNT)
        await until(lambda kproxy=kproxy: kproxy.served != frozenset() or kproxy is two)  # type: ignore[misc]
    await until(lambda: one.served | two.served == ALL and len(one.served) == len(two.served) == 1)


async def test_before_there_is_a_state_log_a_process_serves_nothing_and_knows_nobody(one: Kproxy) -> None:
    # When / Then
    fleet = one.fleet
    assert (fleet.fleet_group, fleet.map_epoch, fleet.may_serve(0)) == (STATE, NO_MAP_EPOCH, False)
    assert (fleet.peer_of_group("workers"), list(fleet.peers()), fleet.is_map_current()) == (None, [], False)
    fleet.saw_epoch(7)
    fleet.gave_up(ALL)
    fleet.desert()
    await fleet.leave(0)
    assert fleet.identity is None


async def test_a_process_that_is_alone_serves_every_slot_under_its_map_and_no_group_is_another_one_s(
    one: Kproxy,
) -> None:
    # When
    await one.fleet.join(one.slots, SLOT_COUNT)
    await until(lambda: one.served == ALL)

    # Then
    assert one.fleet.map_epoch > 0
    assert [one.fleet.peer_of_group(group_of_slot(slot)) for slot in ALL] == [None] * SLOT_COUNT
    assert list(one.fleet.peers()) == []


async def test_whoever_asks_is_told_of_every_map_and_peers_are_told_whose_state_log_it_is(
    one: Kproxy,
) -> None:
    # Given
    told: list[frozenset[int]] = []
    one.fleet.on_map = lambda: told.append(one.served)

    # When
    await one.fleet.join(one.slots, SLOT_COUNT)
    await until(lambda: one.served == ALL)

    # Then
    identity = one.fleet.identity
    assert told
    assert identity is not None
    assert (identity.state_topic, identity.slot_count, identity.fleet_group) == (STATE, SLOT_COUNT, STATE)
    assert (identity.token, identity.name) == ("token of one", "one")


async def test_each_group_is_served_by_one_of_two_processes_and_both_know_by_which_and_where(
    one: Kproxy, two: Kproxy
) -> None:
    # When
    await both_serve(one, two)
    await until(lambda: len(one.fleet.peers()) == len(two.fleet.peers()) == 1)

    # Then
    first, second = Peer("token of one", "one", "127.0.0.1", 1), Peer("token of two", "two", "127.0.0.1", 2)
    assert (list(one.fleet.peers()), list(two.fleet.peers())) == ([second], [first])
    for slot in ALL:
        answers = [kproxy.fleet.peer_of_group(group_of_slot(slot)) for kproxy in (one, two)]
        assert answers == ([None, first] if slot in one.served else [second, None])
        assert answers == [kproxy.fleet.peer_of_slot(slot) for kproxy in (one, two)]
    assert (one.fleet.own_name, one.fleet.own_token) == ("one", "token of one")


async def test_whoever_leaves_in_order_hands_its_slots_over_and_still_knows_where_they_are(
    one: Kproxy, two: Kproxy
) -> None:
    # Given
    await both_serve(one, two)

    # When
    await two.fleet.leave(10_000)

    # Then
    assert two.served == frozenset()
    await until(lambda: one.served == ALL)
    assert [peer.name for peer in two.fleet.peers()] == ["one"]
    assert two.fleet.is_map_current()
    moves = [kproxy.metrics.counted("fleet_slot_moves", "taken") for kproxy in (one, two)]
    assert moves == [SLOT_COUNT + 1, 1]
    assert two.metrics.counted("fleet_slot_moves", "given_up") == 1
    assert two.metrics.counted("fleet_maps") > 0


@pytest.mark.parametrize(
    "error_code", [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NOT_COORDINATOR]
)
async def test_whoever_may_still_be_in_the_group_when_it_ends_can_be_seen_dead_by_its_successor(
    error_code: ErrorCode, cluster: ScriptedStateLog, one: Kproxy
) -> None:
    # Given
    await one.fleet.join(one.slots, SLOT_COUNT)
    await until(lambda: one.served == ALL)
    assert one.fleet.member is not None
    member_id, lock = one.fleet.member.membership.member_id, one.fleet._process
    assert lock is not None
    for broker in cluster.brokers.values():
        broker.answers[ApiKey.LEAVE_GROUP] = lambda _: LeaveGroupResponse(error_code=error_code)

    # When
    await one.fleet.leave(0)
    end_like_its_process(lock)

    # Then
    dead = {member_id} if error_code is ErrorCode.NOT_COORDINATOR else set()
    successor = ProcessLock.take()
    assert successor.dead_among({member_id}) == dead
    successor.forget({member_id})
    successor.release()


async def test_the_map_of_a_process_that_stood_still_for_longer_than_its_lease_is_not_current(
    one: Kproxy, two: Kproxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    await both_serve(one, two)
    before = one.fleet.is_map_current()
    later_ms = LeaseClock().now_ms() + 6_000

    # When
    monkeypatch.setattr(LeaseClock, "now_ms", lambda _: later_ms)

    # Then
    assert before
    assert not one.fleet.is_map_current()


@pytest.mark.parametrize("slot", sorted(ALL))
async def test_a_process_whose_state_log_is_gone_is_in_no_fleet_and_joins_anew_with_another_one(
    slot: int, one: Kproxy
) -> None:
    # Given
    await one.fleet.join(one.slots, SLOT_COUNT)
    await until(lambda: one.served == ALL)
    former, epoch = one.fleet.member, one.fleet.map_epoch

    # When
    one.slots.abandon("the topics are no more")
    one.fleet.desert()
    deserted = (one.fleet.may_serve(slot), one.fleet.map_epoch)
    one.slots = one.backing.idle_slots(one.backing.claims(await one.backing.found()), SLOT_COUNT)
    await one.fleet.join(one.slots, SLOT_COUNT)
    await until(lambda: one.served == ALL)

    # Then
    assert deserted == (False, NO_MAP_EPOCH)
    assert one.fleet.map_epoch > epoch
    assert former is not None
    await until(lambda: former.membership.state is MemberState.LEFT)
