"""The state log without a log keeps the port's promises."""

from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import StateLogUnavailable
from kproxy.handlers.ports import StateLog
from kproxy.share.identifiers import (
    GroupId,
    LeaderEpoch,
    SharePartitionKey,
    SnapshotEpoch,
    StateEpoch,
    TopicId,
)
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import NO_CHANGE, StateBatch, StateDelta
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.in_memory_state_log import InMemoryStateLog

KEY = SharePartitionKey(GroupId("orders"), TopicId(b"t" * 16), 0)
DELTA = StateDelta(0, 0, (StateBatch(0, 9, RecordState.ACKNOWLEDGED, 1),))

T = TypeVar("T")


def result_of(awaitable: Awaitable[T]) -> T:
    """Run to the end what must never wait."""

    async def wait() -> T:
        return await awaitable

    coroutine: Coroutine[Any, Any, T] = wait()
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("it waited")


def a_state_log(*, state_epoch: int = 1, start_offset: int = 0) -> StateLog:
    state_log = InMemoryStateLog()
    result_of(state_log.initialize(KEY, state_epoch=state_epoch, start_offset=start_offset))
    return state_log


def test_what_was_never_initialized_has_no_state() -> None:
    assert result_of(InMemoryStateLog().load(KEY)) is None


@pytest.mark.parametrize(("start_offset", "complete_count"), [(-1, -1), (0, 0), (42, 0)])
def test_an_initialized_state_is_empty(start_offset: int, complete_count: int) -> None:
    # When
    state_log = a_state_log(state_epoch=7, start_offset=start_offset)

    # Then
    assert result_of(state_log.load(KEY)) == DurableShareState(
        state_epoch=StateEpoch(7),
        leader_epoch=LeaderEpoch(0),
        snapshot_epoch=SnapshotEpoch(0),
        start_offset=start_offset,
        delivery_complete_count=complete_count,
        state_batches=(),
    )


def test_a_delta_is_part_of_the_state_when_the_call_returns() -> None:
    # Given
    state_log = a_state_log()

    # When
    written = state_log.persist(KEY, DELTA)
    state = result_of(state_log.load(KEY))
    result_of(written)

    # Then
    assert state is not None
    assert state.state_batches == DELTA.batches


def test_the_empty_delta_is_written_without_a_trace() -> None:
    # Given
    state_log = a_state_log()
    before = result_of(state_log.load(KEY))

    # When
    result_of(state_log.persist(KEY, NO_CHANGE))

    # Then
    assert result_of(state_log.load(KEY)) is before


def test_nothing_can_be_written_before_it_was_initialized() -> None:
    # Given
    state_log = InMemoryStateLog()

    # When
    written = state_log.persist(KEY, DELTA)
    with pytest.raises(StateLogUnavailable, match="never initialized") as refusal:
        result_of(written)

    # Then
    assert refusal.value.error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_initializing_again_under_a_higher_epoch_begins_anew() -> None:
    # Given
    state_log = a_state_log(state_epoch=1)
    state_log.persist(KEY, DELTA)

    # When
    result_of(state_log.initialize(KEY, state_epoch=2, start_offset=5))

    # Then
    state = result_of(state_log.load(KEY))
    assert state is not None
    assert (state.state_epoch, state.snapshot_epoch, state.start_offset) == (2, 1, 5)
    assert state.state_batches == ()


def test_repeating_an_initialization_keeps_what_was_written_since() -> None:
    # Given
    state_log = a_state_log(state_epoch=1, start_offset=0)
    state_log.persist(KEY, DELTA)

    # When
    result_of(state_log.initialize(KEY, state_epoch=1, start_offset=0))

    # Then
    state = result_of(state_log.load(KEY))
    assert state is not None
    assert state.state_batches == DELTA.batches


def test_an_older_epoch_cannot_initialize() -> None:
    # Given
    state_log = a_state_log(state_epoch=2)
    before = result_of(state_log.load(KEY))

    # When
    with pytest.raises(StateLogUnavailable, match="state epoch 1 is behind 2"):
        result_of(state_log.initialize(KEY, state_epoch=1, start_offset=0))

    # Then
    assert result_of(state_log.load(KEY)) is before
