"""Signs of life in the log, and what a kproxy of the same fleet, or another one, that starts makes of them."""

import asyncio
import re

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.net.state_log import signs_of_life
from kproxy.net.state_log.signs_of_life import ALIVE_MS, OtherFleets, SignsOfLife
from kproxy.net.state_log.state_topics import StateTopicUnusable
from kproxy.statelog.group_records import RecoveryPoint, SignOfLife, decode_group_record
from tests.in_memory.manual_clock import ManualClock
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.slot_allocations import FLEET
from tests.worlds.state_log_process import Process
from tests.worlds.state_logs import GROUPS_ID, NOW_MS, StateLogBacking, groups_log
from tests.worlds.waiting import until

OTHER_FLEET = "another fleet"


def signs(cluster: ScriptedStateLog) -> list[SignOfLife]:
    """Return the signs of life in slot 0 of the log, in order."""
    found = [decode_group_record(record).record for record in cluster.records(groups_log())]
    return [point.sign for point in found if isinstance(point, RecoveryPoint) and point.sign is not None]


async def look(backing: StateLogBacking, fleet_group: str = FLEET) -> None:
    """Do what a start of a process of this fleet does before it joins."""
    await others(backing, fleet_group).require_none(await backing.found())


def others(
    backing: StateLogBacking, fleet_group: str = FLEET, clock: ManualClock | None = None
) -> OtherFleets:
    return OtherFleets(
        fleet_group, backing.reader, wall_clock=backing.wall_clock, clock=clock or ManualClock()
    )


async def test_a_first_start_finds_nobody(backing: StateLogBacking) -> None:
    await look(backing)


async def test_a_process_of_the_same_fleet_is_no_obstacle(backing: StateLogBacking) -> None:
    await Process(backing).serves()
    await look(backing)


async def test_a_process_of_another_fleet_that_claimed_a_moment_ago_is_named_and_refused_with_the_remedy(
    backing: StateLogBacking,
) -> None:
    # Given
    await Process(backing, "kproxy at host-1", fleet_group=OTHER_FLEET).serves()
    backing.wall_clock.advance(3_000)

    # When / Then
    words = (
        "another fleet serves from __kproxy_share_groups: kproxy at host-1 (",
        f"of group '{OTHER_FLEET}', wrote to it 3 s ago, and this kproxy's group is '{FLEET}'; ",
        "give both the same kproxy.fleet.group, or each its own topics",
    )
    with pytest.raises(StateTopicUnusable, match=".*".join(map(re.escape, words))):
        await look(backing)


async def test_a_process_that_does_not_say_which_fleet_it_belongs_to_is_no_obstacle(
    backing: StateLogBacking,
) -> None:
    """One of a version that knew no fleets: it is overtaken, as it always was."""
    await Process(backing, fleet_group="").serves()
    await look(backing)


async def test_an_owner_of_another_fleet_with_nothing_to_do_is_known_by_its_signs(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slots = await backing.ready_slots()
    giving = SignsOfLife(slots, "kproxy at host-1 (a0b1)", OTHER_FLEET, wall_clock=backing.wall_clock)
    for _ in range(3):
        backing.wall_clock.advance(60_000)
        await giving.give()
    backing.wall_clock.advance(4_000)

    # When / Then
    with pytest.raises(
        StateTopicUnusable, match=r"kproxy at host-1 \(a0b1\), of group 'another fleet'.* 4 s ago"
    ):
        await look(backing)
    assert signs(cluster) == [
        SignOfLife("kproxy at host-1 (a0b1)", NOW_MS + 60_000 * number, False, OTHER_FLEET)
        for number in range(1, 4)
    ]


async def test_signs_follow_each_other(
    monkeypatch: pytest.MonkeyPatch, cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    monkeypatch.setattr(signs_of_life, "SIGN_SECONDS", 0.001)
    # Given
    giving = SignsOfLife(
        await backing.ready_slots(), "kproxy at host-1", FLEET, wall_clock=backing.wall_clock
    )

    # When
    life = backing.tasks.spawn(giving.run(), name="signs")

    # Then
    def are_two_given() -> bool:
        backing.wall_clock.advance(1)
        return len(signs(cluster)) >= 2

    await until(are_two_given)
    assert not life.done()


async def test_another_fleet_that_gave_no_sign_for_long_is_no_obstacle(backing: StateLogBacking) -> None:
    await Process(backing, fleet_group=OTHER_FLEET).serves()
    backing.wall_clock.advance(ALIVE_MS + 1)
    await look(backing)


async def test_another_fleet_whose_last_process_ended_in_order_is_no_obstacle(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    process = await Process(backing, fleet_group=OTHER_FLEET).serves()
    await process.service.leave()
    await look(backing)
    assert [(sign.has_left, sign.fleet_group) for sign in signs(cluster)] == [(True, OTHER_FLEET)]


async def test_whoever_claims_after_another_one_has_left_is_alive(backing: StateLogBacking) -> None:
    # Given
    await (await Process(backing, "kproxy at host-1", fleet_group=OTHER_FLEET).serves()).service.leave()
    await Process(backing, "kproxy at host-2", fleet_group=OTHER_FLEET).serves()

    # When / Then
    with pytest.raises(StateTopicUnusable, match="kproxy at host-2"):
        await look(backing)


async def test_whoever_does_not_serve_slot_0_gives_no_sign(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slots = await backing.ready_slots()
    giving = SignsOfLife(slots, "kproxy at host-1", FLEET, wall_clock=backing.wall_clock)
    slots.slots_lost(frozenset({0}), "the map gives it to another")

    # When
    await giving.give()
    await giving.leave()

    # Then
    assert signs(cluster) == []


async def test_whoever_lost_the_right_to_slot_0_without_knowing_gives_no_sign(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    giving = SignsOfLife(
        await backing.ready_slots(), "kproxy at host-1", FLEET, wall_clock=backing.wall_clock
    )
    backing.fleet.has_lease = False

    # When
    await giving.give()

    # Then
    assert signs(cluster) == []


async def test_the_last_sign_does_not_wait_behind_what_is_stuck(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slots = await backing.ready_slots()
    giving = SignsOfLife(slots, "kproxy at host-1", FLEET, wall_clock=backing.wall_clock)
    cluster.may_land.clear()
    stuck = backing.tasks.spawn(giving.give(), name="a sign")
    await until(lambda: slots.all()[0].has_work)

    # When
    async with asyncio.timeout(1):
        await giving.leave()

    # Then
    assert not stuck.done()
    cluster.may_land.set()


async def test_a_log_that_cannot_be_looked_at_holds_up_no_start(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    topics = await backing.found()
    cluster.refuse(GROUPS_ID, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    await others(backing).require_none(topics)


async def test_who_starts_with_a_clock_that_is_hours_behind_is_held_up_no_longer_than_a_fleet_may_be_silent(
    backing: StateLogBacking,
) -> None:
    """What the other fleet wrote last is still to come by this clock, and it was killed: nobody else will write."""
    # Given
    await Process(backing, fleet_group=OTHER_FLEET).serves()
    backing.wall_clock.advance(-5 * 3_600_000)
    clock, topics = ManualClock(), await backing.found()
    starting = others(backing, clock=clock)
    with pytest.raises(StateTopicUnusable, match="wrote to it 0 s ago"):
        await starting.require_none(topics)

    # When
    clock.advance(ALIVE_MS + 1)

    # Then
    await starting.require_none(topics)


async def test_another_fleet_that_goes_on_writing_is_alive_whatever_the_clock_says(
    backing: StateLogBacking,
) -> None:
    # Given
    await Process(backing, fleet_group=OTHER_FLEET).serves()
    backing.wall_clock.advance(-5 * 3_600_000)
    clock, topics = ManualClock(), await backing.found()
    starting = others(backing, clock=clock)
    with pytest.raises(StateTopicUnusable):
        await starting.require_none(topics)
    clock.advance(ALIVE_MS + 1)

    # When
    await Process(backing, "kproxy at host-2", fleet_group=OTHER_FLEET).serves()

    # Then
    with pytest.raises(StateTopicUnusable, match="kproxy at host-2"):
        await starting.require_none(topics)
