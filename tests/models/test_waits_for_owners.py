"""Requests wait for slots of which nobody knows the owner, and not for those of other processes."""

import asyncio

from kproxy.fleet.fleet_map import NOBODY
from kproxy.handlers.readiness import StateNeed
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.scripted_fleets import FleetScript
from tests.worlds.state_log_process import HERE, THERE, Process
from tests.worlds.state_logs import SLOT_COUNT, StateLogBacking
from tests.worlds.waiting import until, until_all_wait

CONNECTION = 7
NEED = StateNeed((HERE.group_id, THERE.group_id))
"""Something of every slot."""


def begin(process: Process, need: StateNeed) -> asyncio.Task[int]:
    """Begin to wait."""
    return asyncio.get_running_loop().create_task(process.service.readiness.wait(need, CONNECTION))


async def waits(process: Process, count: int) -> None:
    """Return when so many requests wait."""
    await until(lambda: process.service.readiness.waiting_count == count)


async def process_of_a_fleet(backing: StateLogBacking, *owners: int) -> tuple[Process, FleetScript]:
    """Return member 0 of a fleet of two, which has heard of a map with these owners."""
    script = FleetScript(SLOT_COUNT)
    member, _ = script.add(), script.add()
    script.give(owners)
    process = Process(backing, fleet=member)
    process.service.start()
    await process.service.first_word(10)
    return process, script


async def test_nobody_waits_for_a_slot_that_another_process_owns(backing: StateLogBacking) -> None:
    # Given
    process, _ = await process_of_a_fleet(backing, 1, 1)

    # When
    waited_ms = await process.service.readiness.wait(NEED, CONNECTION)

    # Then
    assert waited_ms == 0


async def test_who_waits_for_a_slot_of_which_nobody_knows_the_owner_goes_on_when_it_is_served(
    backing: StateLogBacking,
) -> None:
    # Given
    process, script = await process_of_a_fleet(backing, NOBODY, NOBODY)
    wait = begin(process, StateNeed((HERE.group_id,)))
    await waits(process, 1)

    # When
    script.give((0, 1))
    script.members[0].hear()
    waited_ms = await wait

    # Then
    assert waited_ms > 0
    assert process.states() == {"ready": 1, "elsewhere": 1}


async def test_who_waits_for_a_slot_of_which_nobody_knows_the_owner_goes_on_when_another_process_has_it(
    backing: StateLogBacking,
) -> None:
    # Given
    process, script = await process_of_a_fleet(backing, NOBODY, NOBODY)
    wait = begin(process, NEED)
    await waits(process, 1)

    # When
    script.give((1, 1))
    script.members[0].hear()
    await wait

    # Then
    assert process.states() == {"elsewhere": 2}


async def test_who_waits_for_a_slot_waits_on_when_it_is_lost_before_it_was_served(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    cluster.may_land.clear()
    process, script = await process_of_a_fleet(backing, 0, 0)
    wait = begin(process, NEED)
    await waits(process, 1)

    # When
    script.members[0].stand_still()
    script.members[0].go_on()
    await until_all_wait()
    was_waiting = not wait.done()
    cluster.may_land.set()
    script.give((0, 0))
    script.members[0].hear()
    await wait

    # Then
    assert was_waiting
    assert process.states() == {"ready": 2}
