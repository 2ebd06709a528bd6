"""Equal assignments that a log has are one object, and so are equal partitions in different ones."""

import gc
from typing import Self

from kproxy.share.identifiers import TopicId, TopicIdPartition
from kproxy.statelog.shared_assignments import SharedAssignments


def decoded(*numbers: int) -> frozenset[TopicIdPartition]:
    """Return partitions that are objects of their own, as records have them."""
    return frozenset([TopicIdPartition(TopicId(b"%16d" % number), number) for number in numbers])


def test_equal_assignments_are_one_object() -> None:
    # Given
    assignments = SharedAssignments()

    # When
    first, second = assignments.shared(decoded(1, 2)), assignments.shared(decoded(2, 1))

    # Then
    assert first is second
    assert first == decoded(1, 2)


def test_assignments_that_differ_have_the_partitions_in_common() -> None:
    # Given
    assignments = SharedAssignments()

    # When
    first, second = assignments.shared(decoded(1, 2)), assignments.shared(decoded(2, 3))

    # Then
    assert (first, second) == (decoded(1, 2), decoded(2, 3))
    assert len({id(each) for each in (*first, *second)}) == 3


def test_an_assignment_that_nobody_has_any_more_is_not_kept() -> None:
    # Given
    assignments = SharedAssignments()
    assignments.shared(decoded(1, 2))
    gc.collect()

    # When
    assignments.forget()
    anew = assignments.shared(decoded(1))

    # Then
    assert anew == decoded(1)
    assert len(assignments) == 1


def test_of_two_with_the_same_hash_each_stays_what_it_is() -> None:
    # Given
    assignments = SharedAssignments()
    first, second = (assignments.shared(frozenset([_Alike(number)])) for number in (1, 2))

    # Then
    assert (first, second) == (frozenset([_Alike(1)]), frozenset([_Alike(2)]))


class _Alike(TopicIdPartition):
    """A partition with the hash of every other one."""

    def __new__(cls, number: int) -> Self:
        return super().__new__(cls, TopicId(bytes(16)), number)

    def __hash__(self) -> int:
        return 7
