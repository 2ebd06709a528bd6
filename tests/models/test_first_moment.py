"""Requests that come in the first moment: at a first start, at a restart, and while one slot is loaded again.

They wait until the state log is there, and are then answered as at any other time; but nobody who holds records of one
slot waits for another one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.net.state_log.slot import StateSlot
from kproxy.share.heartbeat import PartitionInitialization
from kproxy.share.identifiers import SharePartitionKey, StateEpoch
from kproxy.statelog.operations import Initialize
from kproxy.wire.codecs import Message
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from tests.in_memory.scripted_state_log import Fate, ScriptedStateLog
from tests.worlds.backing import ORDERS
from tests.worlds.sharing_process import KEY, TOPIC_PARTITIONS, SharingProcess
from tests.worlds.state_log_requests import (
    NOT_YET,
    acknowledgement,
    describe_configs,
    error_codes,
    fetch,
    requests_about,
)
from tests.worlds.state_logs import StateLogBacking, create_state_topics, key_of_slot, state_log
from tests.worlds.waiting import until

REQUESTS: Final = requests_about(KEY, topic="orders")

ELSEWHERE: Final = key_of_slot(1)
"""A share-partition of a group that is not in the slot of `KEY`."""

RECORDS: Final = 3

ANSWERED_AT_ONCE_SECONDS: Final = 2.0
"""Far less than a request waits for its slots."""

every_api = pytest.mark.parametrize("request_of_api", REQUESTS.values(), ids=REQUESTS)

WAITING: Final = {name: request for name, request in REQUESTS.items() if name != "ShareAcknowledge"}
"""Those that wait for a slot. What is held is acknowledged at once, or not at all."""

every_api_that_waits = pytest.mark.parametrize("request_of_api", WAITING.values(), ids=WAITING)


def a_cluster() -> ScriptedStateLog:
    """Return one with a topic to share."""
    cluster = ScriptedStateLog()
    cluster.create_topic("orders", ORDERS, partition_count=TOPIC_PARTITIONS)
    return cluster


async def answered_when(
    process: SharingProcess, request: Message, come: Callable[[], Awaitable[object]]
) -> set[int]:
    """Return the error codes of an answer that comes after the state log did, and not before."""
    asked = asyncio.get_running_loop().create_task(process.serve(request))
    await asyncio.wait([asked], timeout=0.02)
    was_answered = asked.done()
    await come()
    async with asyncio.timeout(4):
        codes = error_codes(await asked)
    assert not was_answered, codes
    return codes


@every_api
async def test_a_request_in_the_first_moment_of_a_first_start_is_answered(request_of_api: Message) -> None:
    async with a_cluster() as cluster, StateLogBacking(cluster) as backing:
        # Given
        process = SharingProcess(backing)

        # When
        codes = await answered_when(process, request_of_api, process.serves)

        # Then
        assert not codes & NOT_YET


@every_api
async def test_a_request_in_the_first_moment_of_a_restart_is_answered(request_of_api: Message) -> None:
    async with a_cluster() as cluster:
        # Given
        async with StateLogBacking(cluster) as backing:
            await begun(await SharingProcess(backing).serves())
        async with StateLogBacking(cluster) as backing:
            process = SharingProcess(backing)

            # When
            codes = await answered_when(process, request_of_api, process.serves)

            # Then
            assert not codes & NOT_YET


@every_api_that_waits
async def test_a_request_while_its_slot_is_loaded_again_is_answered(request_of_api: Message) -> None:
    async with a_cluster() as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster)
        process = await SharingProcess(backing).serves()
        slot = await begun(process)
        await lose(cluster, slot)

        async def let_it_be_claimed() -> None:
            cluster.may_land.set()
            await slot.settled(10)

        # When
        codes = await answered_when(process, request_of_api, let_it_be_claimed)

        # Then
        assert slot.is_ready
        assert not codes & NOT_YET


async def test_other_slots_serve_on_while_one_is_loaded_again() -> None:
    async with a_cluster() as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster)
        process = await SharingProcess(backing).serves()
        await lose(cluster, await begun(process))
        elsewhere = describe_configs("workers")
        assert process.service.slots is not None
        assert process.service.slots.slot_of_group("workers").is_ready

        # When
        answer = await process.serve(elsewhere)

        # Then
        assert error_codes(answer) == set()


async def test_what_a_member_holds_is_acknowledged_while_other_slots_are_loaded_again() -> None:
    async with a_cluster() as cluster, StateLogBacking(cluster) as backing:
        # Given
        process = await holding(cluster, backing, ELSEWHERE)
        await lose_for_long(cluster, slot_of(process, KEY))

        # When
        async with asyncio.timeout(ANSWERED_AT_ONCE_SECONDS):
            answer = await process.serve(acknowledgement(ELSEWHERE, epoch=1))

        # Then
        assert slot_of(process, KEY).state.is_under_way
        assert error_codes(answer) == set()
        assert slot_of(process, ELSEWHERE).states().states[ELSEWHERE].delivery_complete_count == RECORDS


async def test_a_fetch_acknowledges_and_acquires_while_other_slots_are_loaded_again() -> None:
    async with a_cluster() as cluster, StateLogBacking(cluster) as backing:
        # Given
        process = await holding(cluster, backing, ELSEWHERE)
        await lose_for_long(cluster, slot_of(process, KEY))
        await cluster.append(ELSEWHERE.topic_id, ELSEWHERE.partition, [b"one more"])

        # When
        async with asyncio.timeout(ANSWERED_AT_ONCE_SECONDS):
            answer = await process.serve(fetch(ELSEWHERE, epoch=1, acknowledges=True, max_wait_ms=60_000))

        # Then
        assert slot_of(process, KEY).state.is_under_way
        assert error_codes(answer) == set()
        assert acquired_offsets(answer) == [RECORDS]
        assert slot_of(process, ELSEWHERE).states().states[ELSEWHERE].delivery_complete_count == RECORDS


async def test_of_a_slot_that_is_loaded_again_nothing_is_held_and_its_members_hear_so_at_once() -> None:
    async with a_cluster() as cluster, StateLogBacking(cluster) as backing:
        # Given
        process = await holding(cluster, backing, KEY)
        await lose_for_long(cluster, slot_of(process, KEY))

        # When
        async with asyncio.timeout(ANSWERED_AT_ONCE_SECONDS):
            answer = await process.serve(acknowledgement(KEY, epoch=1))

        # Then
        assert slot_of(process, KEY).state.is_under_way
        assert error_codes(answer) == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


async def test_a_request_that_still_waits_when_the_process_ends_is_refused_at_once() -> None:
    async with a_cluster() as cluster, StateLogBacking(cluster) as backing:
        # Given
        process = SharingProcess(backing)
        asked = asyncio.get_running_loop().create_task(process.serve(describe_configs("workers")))
        await until(lambda: process.service.readiness.waiting_count == 1)

        # When
        process.groups.answer_what_waits()
        codes = error_codes(await asked)

        # Then
        assert codes <= NOT_YET
        assert codes


def slot_of(process: SharingProcess, key: SharePartitionKey) -> StateSlot:
    """Return the slot that holds the state of `key`, and its group."""
    assert process.service.slots is not None
    return process.service.slots.slot_of_group(key.group_id)


async def holding(
    cluster: ScriptedStateLog, backing: StateLogBacking, key: SharePartitionKey
) -> SharingProcess:
    """Return a process one of whose members has a share session and holds all `RECORDS` of `key`."""
    create_state_topics(cluster)
    await cluster.append(key.topic_id, key.partition, [b"order"] * RECORDS)
    process = await SharingProcess(backing).serves()
    assert await process.service.states.initialize([PartitionInitialization(key, StateEpoch(0), 0)]) == {}
    answer = await process.serve(fetch(key, epoch=0, max_wait_ms=60_000))
    assert acquired_offsets(answer) == list(range(RECORDS))
    return process


def acquired_offsets(answer: Message) -> list[int]:
    """Return what was acquired with the answer of a fetch."""
    assert isinstance(answer, ShareFetchResponse)
    return [
        offset
        for topic in answer.responses
        for partition in topic.partitions
        for batch in partition.acquired_records
        for offset in range(batch.first_offset, batch.last_offset + 1)
    ]


async def begun(process: SharingProcess) -> StateSlot:
    """Return the slot of the group, with a state of its own."""
    slot = slot_of(process, KEY)
    slot.submit(Initialize(KEY, StateEpoch(0), 0))
    await process.service.drain(10)
    return slot


async def lose(cluster: ScriptedStateLog, slot: StateSlot) -> None:
    """Let an append of the slot be lost, and its next claim wait for `may_land`."""
    cluster.before_init_producer_id = lambda _: cluster.may_land.clear()
    await lose_an_append(cluster, slot)
    await until(lambda: not cluster.may_land.is_set())


async def lose_for_long(cluster: ScriptedStateLog, slot: StateSlot) -> None:
    """Let an append of the slot be lost, and nobody claim it again while the test lasts; other slots serve on."""
    cluster.refused_initializations.extend([ErrorCode.COORDINATOR_NOT_AVAILABLE] * 1_000)
    await lose_an_append(cluster, slot)


async def lose_an_append(cluster: ScriptedStateLog, slot: StateSlot) -> None:
    """Let one get lost, and return when its slot is in doubt."""
    cluster.decree(Fate.LOST, state_log(0))
    slot.submit(Initialize(key_of_slot(0, skip=1), StateEpoch(0), 0))
    await until(lambda: slot.state.is_under_way)
