"""Group configurations that are on their way to the log: not in effect, and made of each other."""

from collections.abc import Collection
from contextlib import nullcontext

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError, PolicyViolation
from kproxy.handlers.groups.group_config_keys import (
    HEARTBEAT_INTERVAL_MS,
    SESSION_TIMEOUT_MS,
    GroupConfigBounds,
    OperatorBounds,
)
from kproxy.handlers.groups.group_configs import ConfigChange, ConfigOperation, GroupConfigs
from tests.worlds.set_configurations import set_configs

SET, DELETE = ConfigOperation.SET, ConfigOperation.DELETE
RESET, LOCK = "share.auto.offset.reset", "share.record.lock.duration.ms"
ISOLATION, MOST_LOCKS = "share.isolation.level", "share.partition.max.record.locks"


def test_what_is_under_way_is_not_in_effect_and_what_comes_behind_it_is_made_of_it() -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())
    set_configs(configs, "g", ConfigChange(RESET, SET, "earliest"))
    before = configs.own_values("g")

    # When
    first = configs.begin("g", [ConfigChange(LOCK, SET, "20000")])
    second = configs.begin("g", [ConfigChange(RESET, DELETE, None)])
    meanwhile = configs.own_values("g")
    configs.come_into_effect(first)
    after_the_first = configs.own_values("g")
    configs.come_into_effect(second)

    # Then
    assert meanwhile == before == {RESET: "earliest"}
    assert after_the_first == {RESET: "earliest", LOCK: "20000"}
    assert configs.own_values("g") == {LOCK: "20000"}


def test_a_change_is_validated_against_what_is_under_way() -> None:
    # Given
    session_bounds = OperatorBounds(default=45_000, low=1, high=60_000)
    configs = GroupConfigs(GroupConfigBounds(session_timeout_ms=session_bounds))
    configs.begin("g", [ConfigChange(SESSION_TIMEOUT_MS, SET, "12000")])

    # When
    with pytest.raises(ApiError) as refused:
        configs.values_after("g", [ConfigChange(HEARTBEAT_INTERVAL_MS, SET, "12000")])

    # Then
    assert refused.value.error_code == ErrorCode.INVALID_CONFIG


def test_of_what_was_given_up_nothing_is_left_for_the_next_change() -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())
    set_configs(configs, "g", ConfigChange(RESET, SET, "earliest"))
    first = configs.begin("g", [ConfigChange(LOCK, SET, "20000")])
    second = configs.begin("g", [ConfigChange(ISOLATION, SET, "read_committed")])

    # When
    configs.give_up(first)
    configs.give_up(second)

    # Then
    assert configs.own_values("g") == {RESET: "earliest"}
    assert configs.values_after("g", [ConfigChange(LOCK, SET, "15000")]) == {RESET: "earliest", LOCK: "15000"}


def test_what_was_given_up_behind_another_leaves_that_one_under_way() -> None:
    """Its record alone may be too large."""
    # Given
    configs = GroupConfigs(GroupConfigBounds())
    first = configs.begin("g", [ConfigChange(LOCK, SET, "20000")])

    # When
    configs.give_up(configs.begin("g", [ConfigChange(ISOLATION, SET, "read_committed")]))

    # Then
    assert configs.values_after("g", []) == {LOCK: "20000"}
    configs.come_into_effect(first)
    assert configs.own_values("g") == {LOCK: "20000"}


@pytest.mark.parametrize("is_durable", [True, False], ids=["durable", "refused"])
def test_groups_about_to_set_something_count_as_long_as_they_may(*, is_durable: bool) -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds(), most_groups=1)
    begun = configs.begin("g", [ConfigChange(LOCK, SET, "20000")])
    configs.values_after("g", [ConfigChange(LOCK, SET, "15000")])
    configs.values_after("h", [ConfigChange(LOCK, DELETE, None)])

    # When
    with pytest.raises(PolicyViolation, match="max=1"):
        configs.begin("h", [ConfigChange(LOCK, SET, "20000")])
    (configs.come_into_effect if is_durable else configs.give_up)(begun)

    # Then
    with pytest.raises(PolicyViolation) if is_durable else nullcontext():
        configs.begin("h", [ConfigChange(LOCK, SET, "20000")])


def test_a_group_that_sets_nothing_any_more_makes_room_when_that_is_durable() -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds(), most_groups=1)
    set_configs(configs, "g", ConfigChange(LOCK, SET, "20000"))
    deletion = configs.begin("g", [ConfigChange(LOCK, DELETE, None)])
    again = configs.begin("g", [ConfigChange(LOCK, SET, "15000")])
    configs.come_into_effect(deletion)
    with pytest.raises(PolicyViolation):
        configs.begin("h", [ConfigChange(LOCK, SET, "20000")])

    # When
    configs.give_up(again)

    # Then
    configs.begin("h", [ConfigChange(LOCK, SET, "20000")])


def test_what_is_under_way_of_a_slot_that_is_lost_never_comes_into_effect() -> None:
    """A slot that is handed over writes what was queued; another process may have altered it since."""
    # Given
    configs = GroupConfigs(GroupConfigBounds(), most_groups=1)
    configs.placed.arrange((), lambda _: 0, lambda _: 0)
    written, refused = (configs.begin("g", [ConfigChange(LOCK, SET, value)]) for value in ("20000", "21000"))
    configs.forget_all(configs.placed.take(0))
    configs.restore_all({"g": {RESET: "earliest"}}, 0)

    # When
    configs.come_into_effect(written)
    configs.give_up(refused)

    # Then
    assert configs.own_values("g") == configs.values_after("g", []) == {RESET: "earliest"}
    assert list(configs.placed.take(0)) == ["g"]


@pytest.mark.parametrize("is_durable", [True, False], ids=["durable", "refused"])
def test_a_group_has_a_place_from_when_something_is_under_way_to_when_nothing_is_left(
    *, is_durable: bool
) -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())
    configs.placed.arrange((), lambda _: 0, lambda _: 0)
    changes = [ConfigChange(LOCK, SET, "20000")]
    first, second = configs.begin("g", changes), configs.begin("g", [ConfigChange(LOCK, DELETE, None)])
    known_at_first, listed_at_first = list(configs.known_ids), list(configs.group_ids)

    # When
    for begun in (first, second):
        (configs.come_into_effect if is_durable else configs.give_up)(begun)

    # Then
    assert (known_at_first, listed_at_first) == (["g"], [])
    assert list(configs.known_ids) == list(configs.placed.take(0)) == []


def test_who_wants_to_know_is_told_of_each_group_whose_fetches_it_concerns_when_they_go_by_it() -> None:
    # Given
    told = list[tuple[str, str, int]]()
    configs = GroupConfigs(GroupConfigBounds())

    def note(group_ids: Collection[str]) -> None:
        [group_id] = group_ids
        told.append((group_id, configs.isolation_level(group_id).name, configs.number(group_id, MOST_LOCKS)))

    configs.on_altered = note
    begun = [
        configs.begin(group_id, [ConfigChange(name, SET, value)])
        for group_id, name, value in [
            ("g", ISOLATION, "read_committed"),
            ("h", ISOLATION, "read_committed"),
            ("i", MOST_LOCKS, "500"),
            ("j", LOCK, "15000"),
        ]
    ]
    told_at_first = list(told)

    # When
    configs.give_up(begun.pop(1))
    for each in begun:
        configs.come_into_effect(each)

    # Then
    assert told_at_first == []
    assert told == [("g", "READ_COMMITTED", 2_000), ("i", "READ_UNCOMMITTED", 500)]


@pytest.mark.parametrize("is_last_refused", [False, True])
def test_who_wants_to_know_is_told_once_of_a_group_that_is_altered_many_times_over(
    *, is_last_refused: bool
) -> None:
    """All of them may become durable in one turn, and each time every fetch of the group would be woken."""
    # Given
    told = list[str]()
    configs = GroupConfigs(GroupConfigBounds(), on_altered=told.extend)
    levels = ["read_committed", "read_uncommitted"] * 50 + ["read_committed"]
    *begun, last = [configs.begin("g", [ConfigChange(ISOLATION, SET, level)]) for level in levels]

    # When
    for each in begun:
        configs.come_into_effect(each)
    told_before_the_last = list(told)
    (configs.give_up if is_last_refused else configs.come_into_effect)(last)

    # Then
    assert (told_before_the_last, told) == ([], ["g"])
