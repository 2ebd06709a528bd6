"""Operations say who asked for them, also when nobody in particular did."""

import pytest

from kproxy.errors import InvalidRequest
from kproxy.share.identifiers import LeaderEpoch, StateEpoch
from kproxy.share.state_batches import StateDelta
from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.operations import ColdSnapshots, Delete, Initialize, Load, Read, requested_write
from tests.worlds.state_log_builders import KEY, a_batch, a_delta


@pytest.mark.parametrize(
    ("operation", "cause"),
    [
        (Initialize(KEY, StateEpoch(1), -1), Cause.INITIALIZE),
        (Load(KEY), Cause.LOAD),
        (Read(KEY, LeaderEpoch(1)), Cause.LOAD),
        (Delete(KEY), Cause.DELETE),
        (ColdSnapshots(0), Cause.SNAPSHOT),
    ],
)
def test_an_operation_of_the_coordinator_itself_has_its_own_cause(
    operation: Initialize | Load | Read | Delete | ColdSnapshots, cause: Cause
) -> None:
    assert operation.actor == Actor(cause)


def test_a_requested_write_has_its_batches_in_order_once_and_from_its_start_offset_on() -> None:
    # Given
    asked = StateDelta(10, 2, (a_batch(17, 19), a_batch(8, 12), a_batch(2, 3), a_batch(11, 14)))

    # When
    write = requested_write(KEY, StateEpoch(1), LeaderEpoch(0), asked)

    # Then
    assert write.delta == a_delta(10, 2, a_batch(10, 14), a_batch(17, 19))
    assert write.actors == (Actor(Cause.OPERATOR, offset_ranges=((10, 14), (17, 19))),)


def test_a_requested_write_with_a_batch_that_cannot_be_is_refused_though_nothing_of_it_would_be_left() -> (
    None
):
    asked = StateDelta(10, 2, (a_batch(3, 2),))

    with pytest.raises(InvalidRequest, match="cannot be durable"):
        requested_write(KEY, StateEpoch(1), LeaderEpoch(0), asked)
