"""Places in a queue: so many for all, half of them for writes alone; each is free again when it was left."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import ApiError, CoordinatorNotAvailable, StateNotWritten
from kproxy.statelog.operations import ColdSnapshots, Delete, Load, Operation
from kproxy.statelog.queue_places import QueuePlaces
from tests.worlds.state_log_builders import KEY
from tests.worlds.state_queue_driver import an_acknowledgement

WRITE = an_acknowledgement(5)
OTHERS: tuple[Operation, ...] = (Load(KEY), Delete(KEY), ColdSnapshots(0))


def refusal_of(places: QueuePlaces, comer: Operation) -> ApiError | None:
    """Why `comer` finds no place; it takes the one that it finds."""
    try:
        places.require_room(comer)
    except ApiError as refusal:
        return refusal
    places.take(comer)
    return None


@given(st.integers(2, 9), st.lists(st.sampled_from([WRITE, *OTHERS])))
def test_others_find_room_up_to_half_of_the_places_and_writes_up_to_the_last(
    most: int, comers: list[Operation]
) -> None:
    # Given
    places, writes, others = QueuePlaces(most), 0, 0
    for comer in comers:
        has_room = writes + others < most and (comer is WRITE or others < most // 2)
        kind = StateNotWritten if comer is WRITE else CoordinatorNotAvailable

        # When
        refusal = refusal_of(places, comer)

        # Then
        assert type(refusal) is (type(None) if has_room else kind)
        writes, others = writes + (comer is WRITE and has_room), others + (comer is not WRITE and has_room)
        assert len(places) == writes + others


def test_the_refusal_says_how_many_wait() -> None:
    # Given
    places = QueuePlaces(2)
    places.take(WRITE)
    places.take(WRITE)

    # When
    refusal = refusal_of(places, WRITE)

    # Then
    assert str(refusal) == "the state log keeps 2 operations waiting"


@pytest.mark.parametrize("operation", [WRITE, *OTHERS])
def test_places_that_were_left_are_free(operation: Operation) -> None:
    # Given
    places = QueuePlaces(8)
    for _ in range(3):
        places.take(operation)

    # When
    places.leave(operation, 2)
    places.leave(operation)

    # Then
    assert len(places) == 0
    for _ in range(4):
        places.require_room(operation)
        places.take(operation)
