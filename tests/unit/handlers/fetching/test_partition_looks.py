"""Looks at many share-partitions: all of them once, then those of which something was heard."""

from kproxy.handlers.fetching.partition_looks import PartitionLooks
from kproxy.handlers.live.wake_keys import wake_key
from kproxy.share.identifiers import SharePartitionKey, TopicIdPartition
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld

IN_TURN = (2, 3, 0, 1)
OWN_KEY = wake_key()


def key(partition: int) -> SharePartitionKey:
    return ShareGroupWorld.key(partition=partition)


def looks() -> PartitionLooks:
    return PartitionLooks({key(each): TopicIdPartition(ORDERS, each) for each in IN_TURN}, OWN_KEY)


def looked_at(found: list[tuple[TopicIdPartition, SharePartitionKey]]) -> tuple[int, ...]:
    assert all(key(partition.partition) == share_partition for partition, share_partition in found)
    return tuple(partition.partition for partition, _ in found)


def test_the_first_look_is_at_everything_in_turn_and_so_is_the_next_where_nothing_is_quiet() -> None:
    # Given
    of_fetch = looks()

    # When
    first, second = of_fetch.begin(()), of_fetch.begin(())

    # Then
    assert (looked_at(first), looked_at(second)) == (IN_TURN, IN_TURN)


def test_what_is_quiet_is_looked_at_again_in_turn_when_something_was_heard_of_it() -> None:
    # Given
    of_fetch = looks()
    of_fetch.begin(())
    for each in IN_TURN:
        of_fetch.leave_quiet(key(each))

    # When
    found = [looked_at(of_fetch.begin(heard)) for heard in ((), (key(1), key(2)), (key(9), OWN_KEY, key(3)))]

    # Then
    assert found == [(), (2, 1), (2, 3, 1)]


def test_what_is_missed_of_a_quiet_one_is_waited_for_until_the_next_look_at_it() -> None:
    # Given
    of_fetch = looks()
    of_fetch.begin(())
    for each in IN_TURN:
        of_fetch.interest[key(each)] = 10 + each
        of_fetch.leave_quiet(key(each))

    # When
    of_fetch.begin((key(3),))

    # Then
    assert of_fetch.interest == {OWN_KEY: None, key(2): 12, key(3): None, key(0): 10, key(1): 11}


def test_the_key_of_the_fetch_comes_first() -> None:
    assert next(iter(looks().interest)) is OWN_KEY


def test_what_was_refused_is_neither_looked_at_nor_waited_for_whatever_is_heard_of_it() -> None:
    # Given
    of_fetch = looks()
    of_fetch.begin(())

    # When
    of_fetch.refuse(key(3))

    # Then
    assert looked_at(of_fetch.begin((key(3),))) == (2, 0, 1)
    assert key(3) not in of_fetch.interest
    assert len(of_fetch) == 3
