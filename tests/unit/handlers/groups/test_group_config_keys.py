import pytest

from kproxy.errors import InvalidConfig
from kproxy.handlers.groups.group_config_keys import (
    AUTO_OFFSET_RESET,
    GROUP_CONFIG_DEFINITIONS,
    RECORD_LOCK_DURATION_MS,
    GroupConfigBounds,
    lock_duration_bounds,
)

BOUNDS = GroupConfigBounds(min_record_lock_duration_ms=15_000, max_record_lock_duration_ms=60_000)


@pytest.mark.parametrize("name", GROUP_CONFIG_DEFINITIONS)
def test_the_default_of_every_key_is_a_value_that_it_takes(name: str) -> None:
    # Given
    definition = GROUP_CONFIG_DEFINITIONS[name]

    # When
    default = definition.operator_default(BOUNDS)

    # Then
    assert definition.parse(default, BOUNDS) == default
    assert definition.built_in_default == default


@pytest.mark.parametrize("duration_ms", [15_000, 60_000])
def test_a_range_includes_both_of_its_ends(duration_ms: int) -> None:
    parse = GROUP_CONFIG_DEFINITIONS[RECORD_LOCK_DURATION_MS].parse
    assert parse(f" {duration_ms} ", BOUNDS) == str(duration_ms)


@pytest.mark.parametrize("value", ["14999", "60001", "-1", "1e4", "", "half a minute"])
def test_what_is_out_of_range_or_no_number_is_refused_with_the_key(value: str) -> None:
    with pytest.raises(InvalidConfig, match=RECORD_LOCK_DURATION_MS):
        GROUP_CONFIG_DEFINITIONS[RECORD_LOCK_DURATION_MS].parse(value, BOUNDS)


def test_where_a_group_starts_is_one_of_three_ways() -> None:
    # Given
    parse = GROUP_CONFIG_DEFINITIONS[AUTO_OFFSET_RESET].parse

    # When
    with pytest.raises(InvalidConfig):
        parse("somewhere", BOUNDS)

    # Then
    for value in ("latest", "earliest", "by_duration:PT1H"):
        assert parse(value, BOUNDS) == value


def test_no_operator_can_allow_locks_of_less_than_a_second() -> None:
    bounds = GroupConfigBounds(min_record_lock_duration_ms=1, max_record_lock_duration_ms=60_000)
    assert lock_duration_bounds(bounds) == (1_000, 60_000)
