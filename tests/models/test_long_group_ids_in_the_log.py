"""States of groups with long ids, read from the log: each record there has the id."""

from dataclasses import replace

from kproxy.share.identifiers import GroupId, SharePartitionKey
from kproxy.statelog.state_log_fold import StateLogFold
from kproxy.statelog.state_records import StateRecord, StateTombstone, encode_state_record
from tests.worlds.state_log_builders import KEY, a_snapshot, an_update


def long_keys(count: int) -> list[SharePartitionKey]:
    group_id = GroupId("g" * 32_000)
    return [KEY._replace(group_id=group_id, partition=partition) for partition in range(count)]


def replayed(*records: StateRecord) -> StateLogFold:
    """Return the fold of what is read from a log: each record has texts of its own."""
    fold = StateLogFold()
    for offset, record in enumerate(records):
        fold.apply(replace(encode_state_record(record, claim_epoch=None, actors=()), offset=offset))
    return fold


def test_the_states_of_a_group_with_a_long_id_have_one_text_of_it_after_a_replay() -> None:
    # Given
    keys = long_keys(4)

    # When
    fold = replayed(*map(a_snapshot, keys))

    # Then
    assert set(fold.states) == set(fold.places) == set(keys)
    assert len({id(key.group_id) for held in (fold.states, fold.places) for key in held}) == 1


def test_updates_without_a_snapshot_have_one_text_of_a_long_id_too_and_leave_it_to_their_snapshots() -> None:
    # Given
    keys = long_keys(3)

    # When
    fold = replayed(*map(an_update, keys), *map(a_snapshot, keys), StateTombstone(keys[0]))

    # Then
    assert set(fold.states) == set(keys[1:])
    assert len({id(key.group_id) for key in fold.states}) == 1
    assert len(StateLogFold.resume(replayed(*map(an_update, keys)).image())._group_ids) == 1


def test_the_text_of_a_long_id_is_forgotten_with_the_last_state_of_its_group() -> None:
    # Given
    keys = long_keys(2)

    # When
    fold = replayed(*map(a_snapshot, keys), *map(StateTombstone, keys), StateTombstone(keys[0]))

    # Then
    assert (len(fold.states), len(fold._group_ids)) == (0, 0)


def test_a_fold_that_goes_on_from_an_image_forgets_long_ids_as_the_one_before_would() -> None:
    # Given
    keys = long_keys(2)
    fold = StateLogFold.resume(replayed(*map(a_snapshot, keys)).image())

    # When
    for offset, key in enumerate(keys, 2):
        fold.replay(StateTombstone(key), claim_epoch=None, offset=offset, timestamp_ms=0)

    # Then
    assert (len(fold.states), len(fold.places), len(fold._group_ids)) == (0, 0, 0)
