"""A value that a group sets is in effect when it is durable: nothing durable follows from one that is refused later."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kproxy.error_codes import ErrorCode
from kproxy.errors import StateNotWritten
from kproxy.handlers.apis.configs.incremental_alter_configs import IncrementalAlterConfigsHandler
from kproxy.handlers.groups.group_config_keys import GroupConfigBounds
from kproxy.handlers.groups.group_configs import GroupConfigs
from kproxy.handlers.request_context import RequestContext
from kproxy.net.state_log.durable_state_log import DurableGroupLog, SlotDirectory
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kproxy.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from tests.in_memory.recording_observer import RecordingObserver
from tests.in_memory.scripted_authorizer import EVERYBODY_MAY
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld, acquired
from tests.worlds.state_logs import StateLogBacking, create_state_topics, groups_log, key_of_slot
from tests.worlds.waiting import until_all_wait

CONTEXT = RequestContext(1, 1, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, "client", "/127.0.0.1")
GROUP_RESOURCE = 32
RELEASE = 2


async def alter(world: ShareGroupWorld, name: str, value: str) -> int:
    """Set a value as a client does, and return the error code."""
    resource = AlterConfigsResource(GROUP_RESOURCE, "g", [AlterableConfig(name, 0, value)])
    answer = await world.serve(
        IncrementalAlterConfigsRequest(resources=[resource]), ApiKey.INCREMENTAL_ALTER_CONFIGS, 1
    )
    assert isinstance(answer, IncrementalAlterConfigsResponse)
    return answer.responses[0].error_code


@asynccontextmanager
async def refused_late(world: ShareGroupWorld, name: str, value: str) -> AsyncIterator[None]:
    """Let a value be on its way to the log while others go on; then it is refused."""
    log = world.group_log
    log.hold_writes, log.persist_failure = asyncio.Event(), StateNotWritten("NOT_ENOUGH_REPLICAS")
    async with asyncio.TaskGroup() as tasks:
        altering = tasks.create_task(alter(world, name, value))
        await until_all_wait()
        yield
        log.hold_writes.set()
    log.hold_writes = log.persist_failure = None
    assert altering.result() == ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_no_share_partition_begins_where_a_value_said_that_was_refused() -> None:
    # Given
    world = ShareGroupWorld()
    await alter(world, "share.auto.offset.reset", "earliest")
    key = await world.initialize(start_offset=-1)
    world.produce(10)
    alice = world.member()

    # When
    async with refused_late(world, "share.auto.offset.reset", "latest"):
        await alice.open()
        await alice.fetch(max_wait_ms=0)
        await until_all_wait()
    world.restart()

    # Then
    bob = world.member("bob")
    await bob.open()
    state = world.state_log.state(key)
    assert state is not None
    assert state.start_offset == 0
    assert acquired(await bob.fetch(max_wait_ms=0)) == [(0, 9, 1)]


async def test_no_record_is_archived_by_a_delivery_limit_that_was_refused() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    world.produce(4)
    alice = world.member()
    await alice.open()
    await alice.fetch(max_wait_ms=0)
    await alice.acknowledge({(ORDERS, 0): [(0, 3, [RELEASE])]})
    await alice.fetch(max_wait_ms=0)

    # When
    async with refused_late(world, "share.delivery.count.limit", "2"):
        await alice.acknowledge({(ORDERS, 0): [(0, 3, [RELEASE])]})
    world.restart()

    # Then
    bob = world.member("bob")
    await bob.open()
    assert acquired(await bob.fetch(max_wait_ms=0)) == [(0, 3, 3)]


async def test_no_uncommitted_record_is_given_to_a_group_that_may_not_read_it_after_all() -> None:
    # Given
    world = ShareGroupWorld()
    await alter(world, "share.isolation.level", "read_committed")
    await world.initialize()
    log = world.log()
    log.append_in_transaction([b"pending"], producer_id=7)
    world.tell_of_records(ORDERS, 0)
    alice = world.member()
    await alice.open()

    # When
    async with refused_late(world, "share.isolation.level", "read_uncommitted"):
        answer = await alice.fetch(max_wait_ms=0)

    # Then
    assert acquired(answer) == []


async def test_values_that_are_written_together_are_refused_together_and_the_next_one_is_in_effect() -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        directory = SlotDirectory()
        directory.open(await backing.ready_slots())
        configs, group_id, heard = GroupConfigs(GroupConfigBounds()), key_of_slot(0).group_id, list[str]()
        handler = IncrementalAlterConfigsHandler(
            configs, DurableGroupLog(directory), RecordingObserver(), authorization=EVERYBODY_MAY
        )

        async def ask(name: str, value: str) -> None:
            resource = AlterConfigsResource(GROUP_RESOURCE, group_id, [AlterableConfig(name, 0, value)])
            answer = await handler.serve(IncrementalAlterConfigsRequest([resource]), CONTEXT)
            error_code = ErrorCode(answer.responses[0].error_code)
            heard.append(f"{error_code.name}: {sorted(configs.own_values(group_id).values())}")

        await ask("share.auto.offset.reset", "earliest")
        cluster.refuse_append(groups_log(), ErrorCode.INVALID_RECORD)

        # When
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(ask("share.auto.offset.reset", "latest"))
            tasks.create_task(ask("share.delivery.count.limit", "2"))
        await ask("share.record.lock.duration.ms", "20000")

    # Then
    assert heard == [
        "NONE: ['earliest']",
        "COORDINATOR_NOT_AVAILABLE: ['earliest']",
        "COORDINATOR_NOT_AVAILABLE: ['earliest']",
        "NONE: ['20000', 'earliest']",
    ]
