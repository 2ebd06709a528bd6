"""What nobody knows is not called unknown where a slot came or went while very much was looked through."""

import asyncio
import json
from collections.abc import Coroutine
from typing import Any, TypeVar

from kproxy.admin.fleet.merged_parts import SLOTS_TOLD
from kproxy.admin.fleet.own_part import OwnPart
from kproxy.admin.questions import question_of
from kproxy.share.identifiers import GroupId, SharePartitionKey
from kproxy.statelog.slot_status import SlotState
from tests.in_memory.inspectable import ORDERS, Inspectable
from tests.in_memory.inspectable_fleet import two_processes

Result = TypeVar("Result")

UNKNOWN = "/api/v1/in-flight?topic=oders"


def fill_for_several_turns(process: Inspectable) -> None:
    for number in range(2_000):
        process.live[SharePartitionKey(GroupId("workers"), ORDERS, number)] = None


async def answered(answer: Coroutine[Any, Any, Result], process: Inspectable, *states: SlotState) -> Result:
    """Return the answer; from its second turn on the slots of `process` are in these states."""
    async with asyncio.TaskGroup() as tasks:
        answering = tasks.create_task(answer)
        await asyncio.sleep(0)
        process.state_log.slots.clear()
        for number, state in enumerate(states):
            process.state_log.add(number, state)
        assert not answering.done(), "too little to look through"
    return answering.result()


async def test_what_is_not_there_is_not_called_unknown_where_a_slot_was_loaded_meanwhile() -> None:
    # Given
    process = Inspectable()
    process.state_log.add(0, SlotState.LOADING)
    fill_for_several_turns(process)

    # When
    answer = await answered(process.answers().answer(question_of(UNKNOWN)), process, SlotState.READY)

    # Then
    assert answer.status == 503
    assert "not ready: 1 of 1 slot" in "".join(answer.pieces)


async def test_a_slot_that_came_meanwhile_is_not_told_to_another_process() -> None:
    # Given
    process = two_processes().processes["kproxy-b"]
    fill_for_several_turns(process)
    part = OwnPart(process.answers())

    # When
    told = await answered(part.tell(UNKNOWN), process, SlotState.READY, SlotState.READY)

    # Then
    assert (told.status, json.loads(told.body)[SLOTS_TOLD]) == (404, [1])


async def test_a_slot_that_went_meanwhile_is_not_taken_for_told_by_its_owner_of_before() -> None:
    # Given
    fleet = two_processes()
    process = fleet.processes["kproxy-a"]
    fill_for_several_turns(process)

    # When
    answer = await answered(
        process.answers().answer(question_of(UNKNOWN)), process, SlotState.ELSEWHERE, SlotState.ELSEWHERE
    )

    # Then
    assert answer.status == 503
    assert "1 slot went from one process to another while this was asked" in "".join(answer.pieces)
