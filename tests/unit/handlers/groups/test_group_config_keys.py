"""What each configuration of a group may say; the words and ranges are those of Kafka 4.3.1."""

import pytest

from kproxy.errors import InvalidConfig
from kproxy.handlers.groups.group_config_keys import (
    ASSIGNMENT_INTERVAL_MS,
    AUTO_OFFSET_RESET,
    DELIVERY_COUNT_LIMIT,
    GROUP_CONFIG_DEFINITIONS,
    HEARTBEAT_INTERVAL_MS,
    PARTITION_MAX_RECORD_LOCKS,
    RECORD_LOCK_DURATION_MS,
    RENEW_ACKNOWLEDGE_ENABLE,
    SESSION_TIMEOUT_MS,
    GroupConfigBounds,
    OperatorBounds,
)

BOUNDS = GroupConfigBounds()


def taken(name: str, value: str) -> str:
    """The value as it is read, when it may be set."""
    definition = GROUP_CONFIG_DEFINITIONS[name]
    parsed = definition.parse(value)
    definition.require_allowed(parsed, BOUNDS)
    return parsed


@pytest.mark.parametrize("name", GROUP_CONFIG_DEFINITIONS)
def test_the_default_of_every_key_is_a_value_that_it_takes(name: str) -> None:
    # Given
    definition = GROUP_CONFIG_DEFINITIONS[name]

    # When
    default = definition.operator_default(BOUNDS)

    # Then
    assert taken(name, default) == default
    assert definition.built_in_default == default


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        (SESSION_TIMEOUT_MS, 45_000, 60_000),
        (HEARTBEAT_INTERVAL_MS, 5_000, 15_000),
        (DELIVERY_COUNT_LIMIT, 2, 10),
        (RECORD_LOCK_DURATION_MS, 15_000, 60_000),
        (ASSIGNMENT_INTERVAL_MS, 0, 15_000),
        (PARTITION_MAX_RECORD_LOCKS, 100, 4_000),
    ],
)
def test_a_range_includes_both_of_its_ends_and_nothing_beyond(name: str, low: int, high: int) -> None:
    assert [taken(name, f" {low} "), taken(name, f"+{high}")] == [str(low), str(high)]
    for beyond in (low - 1, high + 1):
        with pytest.raises(InvalidConfig, match=name):
            taken(name, str(beyond))


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        (
            RECORD_LOCK_DURATION_MS,
            "14999",
            "equal to group.share.min.record.lock.duration.ms, 15000, not 14999",
        ),
        (
            RECORD_LOCK_DURATION_MS,
            "60001",
            "equal to group.share.max.record.lock.duration.ms, 60000, not 60001",
        ),
        (RECORD_LOCK_DURATION_MS, "999", "Invalid value 999 .*: Value must be at least 1000"),
        (DELIVERY_COUNT_LIMIT, "1", "Value must be at least 2"),
        (PARTITION_MAX_RECORD_LOCKS, "99", "Value must be at least 100"),
        (ASSIGNMENT_INTERVAL_MS, "-1", "Value must be at least 0"),
        (SESSION_TIMEOUT_MS, "1e4", "Not a number of type INT"),
        (SESSION_TIMEOUT_MS, "", "Not a number of type INT"),
        (SESSION_TIMEOUT_MS, "2147483648", "Not a number of type INT"),
        (SESSION_TIMEOUT_MS, "9" * 5_000, "Not a number of type INT"),
        (RENEW_ACKNOWLEDGE_ENABLE, "yes", "Expected value to be either true or false"),
    ],
)
def test_what_cannot_be_is_refused_in_kafkas_words(name: str, value: str, told: str) -> None:
    with pytest.raises(InvalidConfig, match=told):
        taken(name, value)


def test_a_switch_is_read_whatever_its_case() -> None:
    assert [taken(RENEW_ACKNOWLEDGE_ENABLE, text) for text in ("TRUE", " false ")] == ["true", "false"]


def test_where_a_group_starts_is_one_of_three_ways() -> None:
    # Given
    values = ("latest", "earliest", "by_duration:PT1H")

    # When
    with pytest.raises(InvalidConfig):
        taken(AUTO_OFFSET_RESET, "somewhere")

    # Then
    assert tuple(taken(AUTO_OFFSET_RESET, value) for value in values) == values


def test_a_number_is_brought_within_bounds() -> None:
    bounds = OperatorBounds(5, 2, 10)
    assert [bounds.clamp(value) for value in (1, 2, 10, 11)] == [2, 2, 10, 10]
