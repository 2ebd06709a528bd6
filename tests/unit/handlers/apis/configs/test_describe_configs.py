"""DescribeConfigs: values, where they come from, and what else they could be."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import CoordinatorLoadInProgress, InvalidRequest
from kproxy.handlers.apis.configs.describe_configs import DescribeConfigsHandler
from kproxy.handlers.groups.group_config_keys import (
    GROUP_CONFIG_DEFINITIONS,
    GroupConfigBounds,
    OperatorBounds,
)
from kproxy.handlers.groups.group_configs import MOST_GROUPS_PER_REQUEST, ConfigChange, GroupConfigs
from kproxy.handlers.request_context import RequestContext
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.describe_configs_response import DescribeConfigsResult
from tests.in_memory.breakable_group_log import BreakableGroupLog
from tests.in_memory.recording_observer import RecordingObserver
from tests.in_memory.scripted_authorizer import EVERYBODY_MAY
from tests.worlds.set_configurations import set_configs

CONTEXT = RequestContext(1, 1, 32, 4, "client", "/127.0.0.1")
RESET, LOCK = "share.auto.offset.reset", "share.record.lock.duration.ms"
ISOLATION = "share.isolation.level"
STATIC_BROKER, DEFAULT, GROUP = 4, 5, 8


async def describe(
    configs: GroupConfigs, keys: list[str] | None = None, *, group_id: str = "g", is_full: bool = False
) -> DescribeConfigsResult:
    request = DescribeConfigsRequest(
        [DescribeConfigsResource(32, group_id, keys)], include_synonyms=is_full, include_documentation=is_full
    )
    answer = await DescribeConfigsHandler(
        configs, BreakableGroupLog(), RecordingObserver(), authorization=EVERYBODY_MAY
    ).serve(request, CONTEXT)
    [result] = answer.results
    return result


async def test_what_is_on_its_way_to_the_log_is_not_told() -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())
    set_configs(configs, "g", ConfigChange(RESET, 0, "earliest"))
    configs.begin("g", [ConfigChange(RESET, 0, "latest")])

    # When
    result = await describe(configs, [RESET])

    # Then
    assert [entry.value for entry in result.configs] == ["earliest"]


async def test_a_value_tells_where_it_comes_from() -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())
    set_configs(configs, "g", ConfigChange(RESET, 0, "earliest"))

    # When
    result = await describe(configs)

    # Then
    assert [(entry.name, entry.value, entry.config_source) for entry in result.configs] == [
        (RESET, "earliest", GROUP),
        ("share.renew.acknowledge.enable", "true", DEFAULT),
        ("share.session.timeout.ms", "45000", DEFAULT),
        ("share.heartbeat.interval.ms", "5000", DEFAULT),
        ("share.delivery.count.limit", "5", DEFAULT),
        (LOCK, "30000", DEFAULT),
        ("share.assignment.interval.ms", "1000", DEFAULT),
        (ISOLATION, "read_uncommitted", DEFAULT),
        ("share.partition.max.record.locks", "2000", DEFAULT),
    ]
    assert {(entry.read_only, entry.is_sensitive) for entry in result.configs} == {(False, False)}
    assert [entry.config_type for entry in result.configs] == [2, 1, 3, 3, 3, 3, 3, 2, 3]
    assert all(entry.synonyms == [] and entry.documentation is None for entry in result.configs)


async def test_synonyms_stand_in_order_of_precedence() -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds(record_lock_duration_ms=OperatorBounds(40_000, 15_000, 60_000)))
    set_configs(configs, "g", ConfigChange(LOCK, 0, "20000"))

    # When
    result = await describe(configs, [LOCK], is_full=True)

    # Then
    [entry] = result.configs
    assert [(synonym.name, synonym.value, synonym.source) for synonym in entry.synonyms] == [
        (LOCK, "20000", GROUP),
        ("group." + LOCK, "40000", STATIC_BROKER),
        ("group." + LOCK, "30000", DEFAULT),
    ]
    assert entry.documentation is not None
    assert "locked" in entry.documentation


@pytest.mark.parametrize("keys", [None, []])
async def test_no_list_of_keys_and_an_empty_one_ask_for_all(keys: list[str] | None) -> None:
    # When
    result = await describe(GroupConfigs(GroupConfigBounds()), keys)

    # Then
    assert [entry.name for entry in result.configs] == list(GROUP_CONFIG_DEFINITIONS)


async def test_a_key_that_does_not_exist_is_left_out_in_silence() -> None:
    # When
    result = await describe(GroupConfigs(GroupConfigBounds()), ["share.none.such", RESET])

    # Then
    assert (result.error_code, result.error_message) == (ErrorCode.NONE, None)
    assert [entry.name for entry in result.configs] == [RESET]


async def test_a_group_must_be_named() -> None:
    # When
    result = await describe(GroupConfigs(GroupConfigBounds()), group_id="")

    # Then
    assert result.error_code == ErrorCode.INVALID_REQUEST
    assert result.configs == []


async def test_while_the_group_is_being_restored_nobody_can_say_what_it_has_set() -> None:
    # Given
    log = BreakableGroupLog()
    log.unreadiness = CoordinatorLoadInProgress("replaying")
    handler = DescribeConfigsHandler(
        GroupConfigs(GroupConfigBounds()), log, RecordingObserver(), authorization=EVERYBODY_MAY
    )

    # When
    answer = await handler.serve(DescribeConfigsRequest([DescribeConfigsResource(32, "g", None)]), CONTEXT)

    # Then
    assert answer.results[0].error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


async def test_a_request_that_names_very_many_groups_is_refused_because_nobody_else_has_a_turn_meanwhile() -> (
    None
):
    # Given
    handler = DescribeConfigsHandler(
        GroupConfigs(GroupConfigBounds()),
        BreakableGroupLog(),
        RecordingObserver(),
        authorization=EVERYBODY_MAY,
    )
    resources = [
        DescribeConfigsResource(32, f"g{number}", None) for number in range(MOST_GROUPS_PER_REQUEST + 1)
    ]

    # When
    answer = await handler.serve(DescribeConfigsRequest(resources[1:]), CONTEXT)
    with pytest.raises(InvalidRequest, match=r"1001 groups .* 1000 at most"):
        await handler.serve(DescribeConfigsRequest(resources), CONTEXT)

    # Then
    assert len(answer.results) == MOST_GROUPS_PER_REQUEST
