"""Operations say who asked for them, also when nobody in particular did."""

import pytest

from kproxy.errors import FencedStateEpoch, InvalidRequest
from kproxy.share.identifiers import LeaderEpoch, StateEpoch
from kproxy.share.state_batches import StateDelta
from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.operations import (
    ColdSnapshots,
    Delete,
    Initialize,
    Load,
    Move,
    Read,
    requested_write,
)
from kproxy.statelog.share_coordinator import LAST_EPOCH
from tests.in_memory.in_memory_state_log import InMemoryStateLog
from tests.worlds.state_log_builders import KEY, a_batch, a_delta, a_state


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


@pytest.mark.parametrize(
    ("stored", "asked", "expected"), [(None, 4, 4), (3, 0, 4), (3, 9, 9), (LAST_EPOCH, 0, LAST_EPOCH)]
)
def test_a_state_that_is_moved_begins_anew_under_a_higher_epoch(
    stored: int | None, asked: int, expected: int
) -> None:
    # Given
    log = InMemoryStateLog()
    if stored is not None:
        log.run(Initialize(KEY, StateEpoch(stored), 0))
        log.run(Load(KEY))
        log.run(requested_write(KEY, StateEpoch(stored), LeaderEpoch(1), a_delta(0, 5, a_batch(0, 4))))

    # When
    moved = log.run(Move(KEY, StateEpoch(asked), 7, Actor(Cause.ALTER_OFFSETS)))

    # Then
    assert moved.refusal is None
    assert log.fold.states[KEY] == a_state(
        snapshot_epoch=0 if stored is None else 1, state_epoch=expected, start_offset=7
    )


def test_whoever_holds_the_state_as_it_was_before_a_move_is_fenced() -> None:
    # Given
    log = InMemoryStateLog()
    log.run(Initialize(KEY, StateEpoch(3), 0))
    log.run(Load(KEY))
    log.run(Move(KEY, StateEpoch(0), 7, Actor(Cause.ALTER_OFFSETS)))

    # When
    late = log.run(requested_write(KEY, StateEpoch(3), LeaderEpoch(1), a_delta(0, 5, a_batch(0, 4))))

    # Then
    assert isinstance(late.refusal, FencedStateEpoch)


def test_a_state_is_not_moved_to_an_offset_that_cannot_be() -> None:
    # When
    moved = InMemoryStateLog().run(Move(KEY, StateEpoch(0), -2, Actor(Cause.ALTER_OFFSETS)))

    # Then
    assert isinstance(moved.refusal, InvalidRequest)
