"""IncrementalAlterConfigs: one result for each resource, in order."""

import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import (
    ApiError,
    CoordinatorLoadInProgress,
    InvalidRequest,
    StateLogUnavailable,
    StateNotWritten,
)
from kproxy.handlers.apis.configs.incremental_alter_configs import IncrementalAlterConfigsHandler
from kproxy.handlers.groups.group_config_keys import RECORD_LOCK_DURATION_MS, GroupConfigBounds
from kproxy.handlers.groups.group_configs import MOST_GROUPS_PER_REQUEST, GroupConfigs
from kproxy.handlers.live.pauses import MOST_AT_FIRST, MOST_AT_ONCE
from kproxy.handlers.request_context import RequestContext
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.in_memory.breakable_group_log import BreakableGroupLog
from tests.in_memory.recording_observer import RecordingObserver
from tests.in_memory.scripted_authorizer import EVERYBODY_MAY
from tests.worlds.waiting import until_all_wait

CONTEXT = RequestContext(1, 1, 44, 1, "client", "/127.0.0.1")
LOCK = "share.record.lock.duration.ms"
MOST_LOCKS = "share.partition.max.record.locks"


def a_resource(group_id: str, value: str | None, *, name: str = LOCK) -> AlterConfigsResource:
    return AlterConfigsResource(32, group_id, [AlterableConfig(name, 0, value)])


async def test_each_resource_gets_its_own_result_and_good_ones_take_effect() -> None:
    # Given
    configs, observer = GroupConfigs(GroupConfigBounds()), RecordingObserver()
    handler = IncrementalAlterConfigsHandler(
        configs, BreakableGroupLog(), observer, authorization=EVERYBODY_MAY
    )
    resources = [a_resource("g", "15000"), a_resource("h", "1"), a_resource("", "15000")]

    # When
    answer = await handler.serve(IncrementalAlterConfigsRequest(resources), CONTEXT)

    # Then
    results = [(result.resource_type, result.resource_name, result.error_code) for result in answer.responses]
    assert results == [
        (32, "g", ErrorCode.NONE),
        (32, "h", ErrorCode.INVALID_CONFIG),
        (32, "", ErrorCode.INVALID_REQUEST),
    ]
    assert answer.responses[0].error_message is None
    assert answer.responses[1].error_message == (
        f"Invalid value 1 for configuration {LOCK}: Value must be at least 1000"
    )
    assert [configs.number(group_id, RECORD_LOCK_DURATION_MS) for group_id in ("g", "h")] == [15_000, 30_000]
    assert observer.reasons == ["invalid_config", "invalid_request"]


async def test_a_resource_that_stands_twice_is_refused_both_times() -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())
    handler = IncrementalAlterConfigsHandler(
        configs, BreakableGroupLog(), RecordingObserver(), authorization=EVERYBODY_MAY
    )

    # When
    answer = await handler.serve(
        IncrementalAlterConfigsRequest([a_resource("g", "15000"), a_resource("g", "20000")]), CONTEXT
    )

    # Then
    assert [result.error_code for result in answer.responses] == [ErrorCode.INVALID_REQUEST] * 2
    assert configs.number("g", RECORD_LOCK_DURATION_MS) == 30_000


async def test_validating_alone_answers_the_same_and_changes_nothing() -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())
    handler = IncrementalAlterConfigsHandler(
        configs, BreakableGroupLog(), RecordingObserver(), authorization=EVERYBODY_MAY
    )
    request = IncrementalAlterConfigsRequest([a_resource("g", "15000")], validate_only=True)

    # When
    answer = await handler.serve(request, CONTEXT)

    # Then
    assert answer.responses[0].error_code == ErrorCode.NONE
    assert configs.number("g", RECORD_LOCK_DURATION_MS) == 30_000


async def test_no_more_groups_have_configurations_than_may() -> None:
    """They need not exist, so nothing else bounds them."""
    # Given
    configs, observer = GroupConfigs(GroupConfigBounds(), most_groups=2), RecordingObserver()
    handler = IncrementalAlterConfigsHandler(
        configs, BreakableGroupLog(), observer, authorization=EVERYBODY_MAY
    )
    await handler.serve(
        IncrementalAlterConfigsRequest([a_resource("a", "15000"), a_resource("b", "15000")]), CONTEXT
    )

    # When
    answer = await handler.serve(
        IncrementalAlterConfigsRequest([a_resource("c", "15000"), a_resource("a", "20000")]), CONTEXT
    )

    # Then
    assert [result.error_code for result in answer.responses] == [ErrorCode.POLICY_VIOLATION, ErrorCode.NONE]
    assert answer.responses[0].error_message == "2 groups have configurations here; kproxy.share.groups.max=2"
    assert list(configs.group_ids) == ["a", "b"]
    assert configs.number("a", RECORD_LOCK_DURATION_MS) == 20_000
    assert observer.reasons == ["policy_violation"]


async def test_what_was_altered_is_durable_when_it_is_answered() -> None:
    # Given
    log = BreakableGroupLog()
    handler = IncrementalAlterConfigsHandler(
        GroupConfigs(GroupConfigBounds()), log, RecordingObserver(), authorization=EVERYBODY_MAY
    )

    # When
    await handler.serve(IncrementalAlterConfigsRequest([a_resource("g", "15000")]), CONTEXT)

    # Then
    assert log.replayed().configs() == {"g": {LOCK: "15000"}}


@pytest.mark.parametrize(
    ("failure", "unreadiness", "told"),
    [
        (StateLogUnavailable("no quorum"), None, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (None, CoordinatorLoadInProgress("replaying"), ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    ],
    ids=["in_doubt", "loading"],
)
async def test_what_is_not_durable_is_refused(
    failure: ApiError | None, unreadiness: ApiError | None, told: ErrorCode
) -> None:
    # Given
    log = BreakableGroupLog()
    log.persist_failure, log.unreadiness = failure, unreadiness
    handler = IncrementalAlterConfigsHandler(
        GroupConfigs(GroupConfigBounds()), log, RecordingObserver(), authorization=EVERYBODY_MAY
    )

    # When
    answer = await handler.serve(IncrementalAlterConfigsRequest([a_resource("g", "15000")]), CONTEXT)

    # Then
    assert answer.responses[0].error_code == told
    assert log.replayed().configs() == {}


async def test_a_refused_change_is_neither_in_effect_nor_made_durable_by_the_next_one() -> None:
    # Given
    log, configs = BreakableGroupLog(), GroupConfigs(GroupConfigBounds())
    handler = IncrementalAlterConfigsHandler(configs, log, RecordingObserver(), authorization=EVERYBODY_MAY)
    await handler.serve(IncrementalAlterConfigsRequest([a_resource("g", "20000")]), CONTEXT)
    log.persist_failure = StateNotWritten("the append was refused")
    await handler.serve(IncrementalAlterConfigsRequest([a_resource("g", "15000")]), CONTEXT)
    log.persist_failure = None
    in_effect = configs.number("g", RECORD_LOCK_DURATION_MS)

    # When
    await handler.serve(
        IncrementalAlterConfigsRequest([a_resource("g", "earliest", name="share.auto.offset.reset")]), CONTEXT
    )

    # Then
    assert in_effect == 20_000
    assert log.replayed().configs() == {"g": {LOCK: "20000", "share.auto.offset.reset": "earliest"}}


async def test_the_writes_of_all_groups_are_queued_before_any_is_waited_for() -> None:
    # Given
    log, configs = BreakableGroupLog(), GroupConfigs(GroupConfigBounds())
    handler = IncrementalAlterConfigsHandler(configs, log, RecordingObserver(), authorization=EVERYBODY_MAY)
    log.hold_writes = asyncio.Event()
    resources = [a_resource("g", "15000"), a_resource("h", "1"), a_resource("i", "20000")]

    # When
    async with asyncio.TaskGroup() as tasks:
        answering = tasks.create_task(handler.serve(IncrementalAlterConfigsRequest(resources), CONTEXT))
        await until_all_wait()
        queued = list(log.configured)
        log.hold_writes.set()

    # Then
    assert queued == ["g", "i"]
    errors = [result.error_code for result in answering.result().responses]
    assert errors == [ErrorCode.NONE, ErrorCode.INVALID_CONFIG, ErrorCode.NONE]
    assert log.replayed().configs() == {"g": {LOCK: "15000"}, "i": {LOCK: "20000"}}


async def test_very_many_groups_are_altered_bit_by_bit() -> None:
    # Given
    log = BreakableGroupLog()
    handler = IncrementalAlterConfigsHandler(
        GroupConfigs(GroupConfigBounds()), log, RecordingObserver(), authorization=EVERYBODY_MAY
    )
    resources = [a_resource(f"g{number}", "15000") for number in range(MOST_GROUPS_PER_REQUEST)]
    seen: list[int] = []

    # When
    async with asyncio.TaskGroup() as tasks:
        answering = tasks.create_task(handler.serve(IncrementalAlterConfigsRequest(resources), CONTEXT))
        while not answering.done():
            await asyncio.sleep(0)
            seen.append(len(log.configured))

    # Then
    assert list(dict.fromkeys(seen)) == [MOST_AT_FIRST, MOST_AT_FIRST + MOST_AT_ONCE, len(resources)]


async def test_whoever_goes_by_configurations_is_told_of_each_group_of_a_request_before_it_is_answered() -> (
    None
):
    # Given
    told = list[str]()
    configs = GroupConfigs(GroupConfigBounds(), on_altered=told.extend)
    handler = IncrementalAlterConfigsHandler(
        configs, BreakableGroupLog(), RecordingObserver(), authorization=EVERYBODY_MAY
    )
    group_ids = [f"g{number}" for number in range(MOST_GROUPS_PER_REQUEST)]
    resources = [a_resource(group_id, "500", name=MOST_LOCKS) for group_id in group_ids]

    # When
    await handler.serve(IncrementalAlterConfigsRequest(resources), CONTEXT)

    # Then
    assert told == group_ids


async def test_nobody_is_told_of_configurations_that_are_refused() -> None:
    # Given
    told, log = list[list[str]](), BreakableGroupLog()
    configs = GroupConfigs(GroupConfigBounds(), on_altered=lambda group_ids: told.append([*group_ids]))
    handler = IncrementalAlterConfigsHandler(configs, log, RecordingObserver(), authorization=EVERYBODY_MAY)
    log.persist_failure = StateNotWritten("the append was refused")

    # When
    await handler.serve(IncrementalAlterConfigsRequest([a_resource("g", "500", name=MOST_LOCKS)]), CONTEXT)

    # Then
    assert told == []


async def test_what_is_asked_for_comes_into_effect_when_it_is_durable() -> None:
    # Given
    log, configs = BreakableGroupLog(), GroupConfigs(GroupConfigBounds())
    handler = IncrementalAlterConfigsHandler(configs, log, RecordingObserver(), authorization=EVERYBODY_MAY)
    log.hold_writes = asyncio.Event()
    seen: list[int] = []

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(handler.serve(IncrementalAlterConfigsRequest([a_resource("g", "15000")]), CONTEXT))
        await until_all_wait()
        seen.append(configs.number("g", RECORD_LOCK_DURATION_MS))
        log.hold_writes.set()
    seen.append(configs.number("g", RECORD_LOCK_DURATION_MS))

    # Then
    assert seen == [30_000, 15_000]


async def test_dead_letters_are_not_served_yet_and_the_answer_says_so() -> None:
    # Given
    handler = IncrementalAlterConfigsHandler(
        GroupConfigs(GroupConfigBounds()),
        BreakableGroupLog(),
        RecordingObserver(),
        authorization=EVERYBODY_MAY,
    )
    resource = a_resource("g", "dead", name="errors.deadletterqueue.topic.name")

    # When
    answer = await handler.serve(IncrementalAlterConfigsRequest([resource]), CONTEXT)

    # Then
    assert answer.responses[0].error_code == ErrorCode.INVALID_CONFIG
    assert "kproxy serves share." in (answer.responses[0].error_message or "")


async def test_a_request_that_names_very_many_groups_is_refused_and_changes_none() -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())
    handler = IncrementalAlterConfigsHandler(
        configs, BreakableGroupLog(), RecordingObserver(), authorization=EVERYBODY_MAY
    )
    resources = [a_resource(f"g{number}", "15000") for number in range(MOST_GROUPS_PER_REQUEST + 1)]

    # When
    with pytest.raises(InvalidRequest, match=r"1001 groups .* 1000 at most"):
        await handler.serve(IncrementalAlterConfigsRequest(resources), CONTEXT)

    # Then
    assert configs.number("g0", RECORD_LOCK_DURATION_MS) == 30_000


async def test_refusals_of_many_groups_are_one_event_for_each_error() -> None:
    # Given
    observer = RecordingObserver()
    handler = IncrementalAlterConfigsHandler(
        GroupConfigs(GroupConfigBounds()), BreakableGroupLog(), observer, authorization=EVERYBODY_MAY
    )
    resources = [a_resource(f"g{number}", "1") for number in range(100)]

    # When
    await handler.serve(IncrementalAlterConfigsRequest(resources), CONTEXT)

    # Then
    assert observer.reasons == ["invalid_config"]
