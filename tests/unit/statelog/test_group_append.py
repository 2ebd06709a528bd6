"""An append of group records takes what there is room for, and says what of it is left."""

from collections.abc import Iterator

import pytest

from kproxy.errors import UnwritableStateRecord
from kproxy.share.identifiers import GroupId
from kproxy.statelog.group_append import MOST_RECORDS, GroupAppend, WaitingGroup
from kproxy.statelog.group_log_fold import GroupLogFold
from kproxy.statelog.group_records import GroupConfigs

CLAIM_EPOCH = 0
PLENTY = 2**20


def configured(count: int, value: str = "v") -> Iterator[GroupConfigs]:
    """Yield so many records."""
    return (GroupConfigs(GroupId(f"g{number}"), {"k": value}) for number in range(count))


def test_what_has_no_room_is_left_and_encoded_already() -> None:
    # Given
    append = GroupAppend(PLENTY, CLAIM_EPOCH)
    waiting = WaitingGroup(1, configured(MOST_RECORDS + 2), [])

    # When
    is_all = append.takes(waiting, "groups")
    left = waiting.no_room

    # Then
    assert not is_all
    assert len(append.changes) == MOST_RECORDS
    assert left is not None
    assert left.says == GroupConfigs(GroupId(f"g{MOST_RECORDS}"), {"k": "v"})
    assert GroupAppend(PLENTY, CLAIM_EPOCH).takes(waiting, "groups")


def test_nothing_is_taken_of_what_has_a_record_that_cannot_be() -> None:
    # Given
    append = GroupAppend(100, CLAIM_EPOCH)
    assert append.takes(WaitingGroup(1, configured(1), []), "small")

    # When
    with pytest.raises(UnwritableStateRecord):
        append.takes(WaitingGroup(1, configured(1, "v" * 100), []), "large")

    # Then
    assert len(append.changes) == 1


def test_what_is_durable_is_what_was_said() -> None:
    # Given
    append, fold = GroupAppend(PLENTY, CLAIM_EPOCH), GroupLogFold()
    append.takes(WaitingGroup(1, configured(2), []), "groups")

    # When
    append.replay_into(fold, 1)

    # Then
    assert fold.configs() == {"g0": {"k": "v"}, "g1": {"k": "v"}}
    assert fold.applied_offset == 2
