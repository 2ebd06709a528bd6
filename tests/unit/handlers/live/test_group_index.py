"""Live share-partitions are found by their group."""

from kproxy.handlers.live.group_index import GroupIndex
from tests.worlds.share_group_world import ShareGroupWorld

KEYS = [ShareGroupWorld.key(partition=partition) for partition in range(3)]
OF_OTHER = ShareGroupWorld.key("other")


def test_a_group_is_given_its_own_in_order_while_they_change() -> None:
    # Given
    index = GroupIndex()
    for key in (*KEYS, OF_OTHER):
        index.add(key)

    # When
    found = index.of(KEYS[0].group_id)
    index.remove(KEYS[1])

    # Then
    assert found == tuple(KEYS)
    assert index.of(KEYS[0].group_id) == (KEYS[0], KEYS[2])
    assert index.count_of(KEYS[0].group_id) == 2
    assert set(index.group_ids) == {KEYS[0].group_id, OF_OTHER.group_id}


def test_nothing_is_left_of_a_group_whose_last_one_is_forgotten() -> None:
    # Given
    index = GroupIndex()
    index.add(OF_OTHER)

    # When
    index.remove(OF_OTHER)

    # Then
    assert index.of(OF_OTHER.group_id) == ()
    assert not index.group_ids
