"""Whatever happens to the members of a fleet, to their connections and to the coordinator: one slot, one lease.

And when all is quiet again the slots are shared evenly, and stay where they are.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kproxy.fleet.limits import FleetLimits
from kproxy.fleet.member_state import MemberState
from tests.worlds.fleet_world import FleetWorld, Process

MOST_PROCESSES: Final = 6
QUIET_MS: Final = 60_000
"""Enough for every session, rebalance and request that is under way to end, and for all moves."""


PATIENT: Final = FleetLimits(session_timeout_ms=600_000, rebalance_timeout_ms=700_000)
"""Whose sessions do not end while a test lasts."""


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that happens to a process, chosen by `which`, and how much time passes after it."""

    kind: str
    which: int
    first_ms: int
    second_ms: int
    then_ms: int


def start(world: FleetWorld, _process: Process, deed: Deed) -> None:
    if len(world.processes) < MOST_PROCESSES:
        world.start(host=deed.which % 2)


def restart(world: FleetWorld, process: Process, _deed: Deed) -> None:
    """The number of processes is bounded by that of the deeds; those that are dead cost nothing."""
    world.kill(process)
    world.start(host=process.host)


def kill(world: FleetWorld, process: Process, _deed: Deed) -> None:
    world.kill(process)


def leave(world: FleetWorld, process: Process, _deed: Deed) -> None:
    if process.is_alive and not process.is_paused and process.membership.state is not MemberState.LEFT:
        world.leave(process)


def pause(world: FleetWorld, process: Process, deed: Deed) -> None:
    world.pause(process)
    world.advance(deed.first_ms)
    world.resume(process)


def slow_down(_world: FleetWorld, process: Process, deed: Deed) -> None:
    process.request_delay_ms, process.answer_delay_ms = deed.first_ms, deed.second_ms


def cut_answers(_world: FleetWorld, process: Process, _deed: Deed) -> None:
    process.loses_answers = not process.loses_answers


def cut_requests(_world: FleetWorld, process: Process, _deed: Deed) -> None:
    process.loses_requests = not process.loses_requests


def cut_steps(_world: FleetWorld, process: Process, _deed: Deed) -> None:
    process.loses_steps = not process.loses_steps


def be_slow_to_give_up(_world: FleetWorld, process: Process, deed: Deed) -> None:
    process.give_up_delay_ms = deed.first_ms


def fail_over(world: FleetWorld, _process: Process, deed: Deed) -> None:
    # What no other coordinator can know is a limit of the first moment, see `kproxy.fleet.lease`.
    if not any(each.membership.is_provisional and each.is_alive for each in world.processes):
        world.coordinator.fail_over(loading_ms=deed.first_ms)


DEEDS: Final[Mapping[str, Callable[[FleetWorld, Process, Deed], None]]] = {
    each.__name__: each
    for each in (
        *(start, kill, restart, leave, pause, slow_down, cut_answers, cut_requests, cut_steps),
        *(be_slow_to_give_up, fail_over),
    )
}
MOMENTS: Final = st.sampled_from([0, 30, 400, 1_400, 2_900, 5_300, 6_200, 9_000, 12_000])
SOME_DEEDS: Final = st.lists(
    st.builds(Deed, st.sampled_from(sorted(DEEDS)), st.integers(0, 5), MOMENTS, MOMENTS, MOMENTS),
    max_size=14,
)


@pytest.mark.parametrize("initial_delay_ms", [0, 3_000])
@settings(max_examples=2 * settings().max_examples)
@given(deeds=SOME_DEEDS, process_count=st.integers(1, 4), slot_count=st.sampled_from([1, 5, 8]))
def test_one_slot_has_one_lease_whatever_happens_and_quiet_ends_in_balance(
    initial_delay_ms: int, deeds: list[Deed], process_count: int, slot_count: int
) -> None:
    """`FleetWorld` itself looks after every event whether two processes serve one slot."""
    # Given
    world = FleetWorld(slot_count=slot_count, initial_delay_ms=initial_delay_ms)
    for _ in range(process_count):
        world.start()
    world.advance(QUIET_MS if process_count % 2 else 0)

    # When
    for deed in deeds:
        process = world.processes[deed.which % len(world.processes)]
        DEEDS[deed.kind](world, process, deed)
        world.advance(deed.then_ms)
    world.heal()
    world.advance(QUIET_MS)

    # Then
    if world.members:
        assert world.counts() == balanced(slot_count, len(world.members))
        settled = world.fleet_map()
        world.advance(QUIET_MS)
        assert (world.fleet_map(), world.counts()) == (settled, balanced(slot_count, len(world.members)))


@pytest.mark.parametrize("initial_delay_ms", [0, 3_000])
@settings(max_examples=settings().max_examples // 2)
@given(
    others=st.integers(0, 4),
    slot_count=st.integers(1, 12),
    killed_at_ms=st.sampled_from([0, 20, 400, 2_900, 3_100, QUIET_MS]),
    kill_count=st.integers(1, 3),
)
def test_who_is_killed_and_started_again_waits_for_no_session(
    initial_delay_ms: int, others: int, slot_count: int, killed_at_ms: int, kill_count: int
) -> None:
    # Given
    world = FleetWorld(slot_count=slot_count, initial_delay_ms=initial_delay_ms, limits=PATIENT)
    for _ in range(others):
        world.start()
    world.advance(QUIET_MS if others else 0)

    # When
    for _ in range(kill_count):
        victim = world.start()
        world.advance(killed_at_ms)
        world.kill(victim)
    world.start()
    # The others hear of a rebalance by their heartbeats; they, too, may have to wait for who died meanwhile.
    world.advance(3 * PATIENT.heartbeat_interval_ms if others else 100)

    # Then
    assert set(world.owners()) == set(range(slot_count))
    assert world.now_ms < PATIENT.session_timeout_ms


@settings(max_examples=settings().max_examples // 2)
@given(before=st.integers(1, 5), slot_count=st.integers(1, 40))
def test_a_member_that_joins_is_given_what_balance_needs_and_nothing_else_moves(
    before: int, slot_count: int
) -> None:
    # Given
    world = FleetWorld(slot_count=slot_count)
    for _ in range(before):
        world.start()
    world.advance(QUIET_MS)
    owners = world.owners()

    # When
    newcomer = world.start()
    world.advance(QUIET_MS)

    # Then
    moved = {slot: owner for slot, owner in world.owners().items() if owner != owners[slot]}
    assert set(moved.values()) <= {newcomer.name}
    assert len(moved) == slot_count // (before + 1)
    assert world.counts() == balanced(slot_count, before + 1)


@settings(max_examples=settings().max_examples // 5)
@given(before=st.integers(2, 5), slot_count=st.integers(1, 40), which=st.integers(0, 4))
def test_of_a_member_that_leaves_in_order_no_slot_is_without_an_owner_for_a_second(
    before: int, slot_count: int, which: int
) -> None:
    # Given
    world = FleetWorld(slot_count=slot_count)
    for _ in range(before):
        world.start()
    world.advance(QUIET_MS)
    leaver = world.processes[which % before]

    # When
    world.leave(leaver)
    unowned_since: dict[int, int] = {}
    for _ in range(400):
        world.advance(50)
        owned = world.owners()
        for slot in range(slot_count):
            if slot in owned:
                unowned_since.pop(slot, None)
            else:
                assert world.now_ms - unowned_since.setdefault(slot, world.now_ms) < 1_000

    # Then
    assert leaver.membership.state is MemberState.LEFT
    assert world.counts() == balanced(slot_count, before - 1)


def balanced(slot_count: int, member_count: int) -> list[int]:
    least, larger_count = divmod(slot_count, member_count)
    return [least] * (member_count - larger_count) + [least + 1] * larger_count
