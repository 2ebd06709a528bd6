"""Group configurations: which keys there are, what they may say, all or nothing."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError, InvalidRequest
from kproxy.handlers.groups.group_config_keys import (
    HEARTBEAT_INTERVAL_MS,
    RECORD_LOCK_DURATION_MS,
    SESSION_TIMEOUT_MS,
    GroupConfigBounds,
    OperatorBounds,
)
from kproxy.handlers.groups.group_configs import (
    MOST_GROUPS_PER_REQUEST,
    ConfigChange,
    ConfigOperation,
    GroupConfigs,
    are_few_groups,
    usable_values,
)
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.live.offset_reset import OffsetReset
from kproxy.wire.messages.describe_configs_request import DescribeConfigsResource
from tests.worlds.set_configurations import set_configs

SET, DELETE, APPEND, SUBTRACT = ConfigOperation
RESET, LOCK = "share.auto.offset.reset", "share.record.lock.duration.ms"
ISOLATION, MOST_LOCKS = "share.isolation.level", "share.partition.max.record.locks"
DEFAULTS = {
    RESET: "latest",
    "share.renew.acknowledge.enable": "true",
    "share.session.timeout.ms": "45000",
    "share.heartbeat.interval.ms": "5000",
    "share.delivery.count.limit": "5",
    LOCK: "30000",
    "share.assignment.interval.ms": "1000",
    ISOLATION: "read_uncommitted",
    "share.partition.max.record.locks": "2000",
}


def values(configs: GroupConfigs, group_id: str = "g") -> dict[str, str]:
    return {entry.definition.name: entry.value for entry in configs.describe(group_id)}


def test_a_group_that_sets_nothing_gets_what_the_operator_set() -> None:
    # When
    configs = GroupConfigs(GroupConfigBounds(record_lock_duration_ms=OperatorBounds(40_000, 15_000, 60_000)))

    # Then
    assert values(configs) == {**DEFAULTS, LOCK: "40000"}
    assert configs.isolation_level("g") is IsolationLevel.READ_UNCOMMITTED
    assert configs.number("g", RECORD_LOCK_DURATION_MS) == 40_000
    assert configs.offset_reset("g") == OffsetReset("latest")


def test_a_group_may_choose_and_change_its_mind() -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())
    chosen = [ConfigChange(RESET, SET, "by_duration:PT1S"), ConfigChange(LOCK, SET, " 15000 ")]
    set_configs(configs, "g", *chosen)
    while_chosen = (
        configs.offset_reset("g"),
        configs.number("g", RECORD_LOCK_DURATION_MS),
        values(configs, "h"),
    )

    # When
    deletions = [ConfigChange(name, DELETE, None) for name in (RESET, LOCK)]
    set_configs(configs, "g", *deletions)

    # Then
    others = DEFAULTS
    assert while_chosen == (OffsetReset("by_duration", 1_000), 15_000, others)
    assert values(configs) == others


def test_a_group_may_read_committed_records_and_go_back() -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())
    set_configs(configs, "g", ConfigChange(ISOLATION, SET, "read_committed"))
    while_set = (configs.isolation_level("g"), configs.isolation_level("h"))

    # When
    set_configs(configs, "g", ConfigChange(ISOLATION, DELETE, None))

    # Then
    assert while_set == (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED)
    assert configs.isolation_level("g") is IsolationLevel.READ_UNCOMMITTED


def test_a_value_stands_as_it_will_be_read() -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())

    # When
    set_configs(configs, "g", ConfigChange(LOCK, SET, "+020000"))

    # Then
    assert values(configs)[LOCK] == "20000"


def test_validating_alone_changes_nothing() -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())

    # When
    configs.values_after("g", [ConfigChange(LOCK, SET, "15000")])

    # Then
    assert values(configs)[LOCK] == "30000"


def test_one_bad_key_leaves_the_good_ones_unset() -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())
    changes = [ConfigChange(LOCK, SET, "15000"), ConfigChange(RESET, SET, "tomorrow")]

    # When
    with pytest.raises(ApiError):
        set_configs(configs, "g", *changes)

    # Then
    assert values(configs)[LOCK] == "30000"


@pytest.mark.parametrize(
    ("change", "error_code", "told"),
    [
        (ConfigChange(LOCK, SET, "14999"), ErrorCode.INVALID_CONFIG, "15000, not 14999"),
        (ConfigChange(LOCK, SET, "60001"), ErrorCode.INVALID_CONFIG, "60000, not 60001"),
        (ConfigChange(LOCK, SET, "30s"), ErrorCode.INVALID_CONFIG, "Invalid value 30s"),
        (ConfigChange(RESET, SET, "none"), ErrorCode.INVALID_CONFIG, "'none'"),
        (ConfigChange("share.assignor", SET, "5"), ErrorCode.INVALID_CONFIG, RESET),
        (ConfigChange(ISOLATION, SET, "READ_COMMITTED"), ErrorCode.INVALID_CONFIG, "one of: read_committed"),
        (ConfigChange(RESET, APPEND, "latest"), ErrorCode.INVALID_CONFIG, "no list"),
        (ConfigChange(LOCK, SUBTRACT, "1"), ErrorCode.INVALID_CONFIG, "no list"),
        (ConfigChange(LOCK, 4, "15000"), ErrorCode.INVALID_REQUEST, "operation 4"),
        (ConfigChange(LOCK, SET, None), ErrorCode.INVALID_REQUEST, "null value"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(
    change: ConfigChange, error_code: ErrorCode, told: str
) -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())

    # When
    with pytest.raises(ApiError) as refusal:
        set_configs(configs, "g", change)

    # Then
    assert refusal.value.error_code is error_code
    assert told in str(refusal.value)


def test_a_key_that_is_named_twice_is_refused() -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())
    changes = [ConfigChange(LOCK, SET, "15000"), ConfigChange(LOCK, DELETE, None)]

    # When
    with pytest.raises(InvalidRequest) as refusal:
        set_configs(configs, "g", *changes)

    # Then
    assert "duplicate" in str(refusal.value)


def test_a_group_must_be_named() -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())

    # When
    with pytest.raises(InvalidRequest):
        set_configs(configs, "")

    # Then
    with pytest.raises(InvalidRequest):
        configs.describe("")


def test_a_session_must_outlive_the_time_between_two_heartbeats() -> None:
    """Whichever of them a group sets, it is judged beside the other one that is in effect."""
    # Given
    bounds = GroupConfigBounds(session_timeout_ms=OperatorBounds(45_000, 6_000, 60_000))
    configs = GroupConfigs(bounds)
    set_configs(configs, "g", ConfigChange(SESSION_TIMEOUT_MS, SET, "12000"))

    # When
    with pytest.raises(ApiError) as refusal:
        set_configs(configs, "g", ConfigChange(HEARTBEAT_INTERVAL_MS, SET, "12000"))

    # Then
    assert refusal.value.error_code is ErrorCode.INVALID_CONFIG
    assert "share.session.timeout.ms (12000) must be greater than" in str(refusal.value)
    assert configs.number("g", HEARTBEAT_INTERVAL_MS) == 5_000


def test_to_delete_a_key_that_nobody_knows_is_nothing() -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())

    # When
    set_configs(configs, "g", ConfigChange("share.none.such", DELETE, None))

    # Then
    assert configs.own_values("g") == {}


# ---- what is durable


def test_what_was_restored_is_in_effect() -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())

    # When
    configs.restore_all({"g": {LOCK: "20000", RESET: "earliest"}}, None)

    # Then
    assert configs.number("g", RECORD_LOCK_DURATION_MS) == 20_000
    assert configs.own_values("g") == {LOCK: "20000", RESET: "earliest"}


def test_what_means_nothing_here_is_not_restored() -> None:
    # When
    usable = usable_values({"share.of.a.newer.kproxy": "1", LOCK: "soon", RESET: "earliest"})

    # Then
    assert usable == {RESET: "earliest"}


@pytest.mark.parametrize(("value", "effective_ms"), [("1000", 15_000), ("90000", 60_000)])
def test_what_was_set_under_other_bounds_is_brought_within_those_of_today(
    value: str, effective_ms: int
) -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())

    # When
    configs.restore_all({"g": {LOCK: value}}, None)

    # Then
    assert configs.number("g", RECORD_LOCK_DURATION_MS) == effective_ms


def test_what_a_group_has_set_is_forgotten_and_of_no_other() -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())
    configs.restore_all({"g": {LOCK: "20000"}, "h": {LOCK: "20000"}}, None)

    # When
    configs.forget_all(["g"])
    configs.forget_all(["of which nothing is known"])

    # Then
    assert [bool(configs.own_values(group_id)) for group_id in ("g", "h")] == [False, True]


def test_groups_with_long_ids_count_for_several() -> None:
    def groups(count: int, length: int) -> list[DescribeConfigsResource]:
        return [DescribeConfigsResource(32, str(number).ljust(length, "g"), None) for number in range(count)]

    assert are_few_groups(groups(MOST_GROUPS_PER_REQUEST, 99))
    assert not are_few_groups(groups(MOST_GROUPS_PER_REQUEST // 2 + 1, 100))
    assert not are_few_groups(groups(4, 32_000))
