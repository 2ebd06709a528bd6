"""What bounds appends, what a failure does, and snapshots that wait for room."""

import pytest

from kproxy.errors import (
    CoordinatorNotAvailable,
    StateLogUnavailable,
)
from kproxy.share.identifiers import StateEpoch
from kproxy.statelog.operations import ColdSnapshots, Delete, Initialize, Load
from kproxy.statelog.share_coordinator import CoordinatorLimits, ShareCoordinator
from kproxy.statelog.state_log_fold import StateLogFold
from kproxy.statelog.state_queue import StateQueue
from kproxy.wire.record_batch_builder import record_size_bytes
from tests.worlds.state_log_builders import (
    KEY,
    OTHER_KEY,
    a_batch,
    a_claim,
    a_snapshot,
    a_state,
    an_update,
)
from tests.worlds.state_queue_driver import (
    KEYS,
    a_queue,
    an_acknowledgement,
    append_everything,
    next_append,
    records_of,
)

ONE_RECORD_BYTES = 300
"""What one record of these tests fits into, and two do not."""

# ------------------------------------------------ bounds


def test_an_append_is_not_larger_than_it_may_be() -> None:
    # Given
    queue = a_queue(*map(a_snapshot, KEYS))
    for key in KEYS:
        queue.submit(an_acknowledgement(5, key=key))
    queue.submit(Load(KEYS[0]))
    append = next_append(queue)
    assert append is not None
    size_bytes = sum(map(record_size_bytes, append.records[:3]))
    queue.fail(StateLogUnavailable("begin again"))
    tickets = [queue.submit(an_acknowledgement(5, key=key)) for key in KEYS]
    tickets.append(queue.submit(an_acknowledgement(6, key=KEYS[0])))

    # When
    bounded = next_append(queue, max_bytes=size_bytes)

    # Then
    assert bounded is not None
    assert len(bounded.records) == 2
    assert queue.waiting_count == len(tickets)


def test_what_had_no_room_keeps_its_turn() -> None:
    # Given
    queue = a_queue(*map(a_snapshot, KEYS))
    for key in KEYS:
        queue.submit(an_acknowledgement(5, key=key))
    queue.submit(Load(KEYS[0]))
    next_append(queue, max_bytes=ONE_RECORD_BYTES)
    queue.succeeded(6)
    queue.submit(an_acknowledgement(6, key=KEYS[1]))

    # When
    appends = append_everything(queue)

    # Then
    assert appends == [
        [
            an_update(KEYS[1], a_batch(5, 6), start_offset=0, complete_count=1),
            *[an_update(key, a_batch(5, 5), start_offset=0, complete_count=1) for key in KEYS[2:]],
            an_update(KEYS[0], leader_epoch=1, start_offset=0, complete_count=1),
        ]
    ]


def test_a_full_queue_refuses_newcomers() -> None:
    # Given
    queue = a_queue(a_snapshot(), max_waiting=2)
    queue.submit(an_acknowledgement(5))
    queue.submit(an_acknowledgement(6))

    # When
    refused = queue.submit(an_acknowledgement(7))

    # Then
    assert type(refused.refusal) is CoordinatorNotAvailable
    assert queue.waiting_count == 2


def test_what_is_settled_makes_room() -> None:
    # Given
    queue = a_queue(a_snapshot(), max_waiting=2)
    queue.submit(an_acknowledgement(5))
    queue.submit(an_acknowledgement(6))
    append_everything(queue)

    # When
    ticket = queue.submit(an_acknowledgement(7))

    # Then
    assert not ticket.is_done


# ------------------------------------------------ failure


def test_a_failure_refuses_what_is_in_flight_and_what_waits_and_forgets_it() -> None:
    # Given
    queue = a_queue(a_snapshot(), a_snapshot(OTHER_KEY))
    tickets = [queue.submit(an_acknowledgement(5)), queue.submit(an_acknowledgement(6))]
    next_append(queue)
    tickets += [
        queue.submit(an_acknowledgement(7)),
        queue.submit(Load(OTHER_KEY)),
        queue.submit(ColdSnapshots(0)),
    ]
    error = StateLogUnavailable("nobody knows")

    # When
    queue.fail(error)

    # Then
    assert [ticket.refusal for ticket in tickets] == [error] * 5
    assert queue.waiting_count == 0
    assert queue.fold.states[KEY] == a_state()


def test_the_queue_goes_on_after_a_failure() -> None:
    # Given
    queue = a_queue(a_snapshot())
    queue.submit(an_acknowledgement(5))
    queue.fail(StateLogUnavailable("nobody knows"))

    # When
    queue.submit(an_acknowledgement(6))

    # Then
    assert append_everything(queue) == [[an_update(KEY, a_batch(6, 6), start_offset=0, complete_count=1)]]


def test_one_append_at_a_time() -> None:
    queue = a_queue(a_snapshot())
    queue.submit(an_acknowledgement(5))
    next_append(queue)

    with pytest.raises(AssertionError, match="before the next one"):
        next_append(queue)


def test_only_what_is_in_flight_succeeds() -> None:
    queue = a_queue(a_snapshot())

    with pytest.raises(AssertionError, match="nothing is in flight"):
        queue.succeeded(2)


def test_records_of_a_claim_that_is_not_held_do_not_pass_for_durable() -> None:
    queue = StateQueue(ShareCoordinator(StateLogFold(), CoordinatorLimits()))
    queue.fold.replay(a_claim(), claim_epoch=None, offset=9, timestamp_ms=0)
    queue.submit(Initialize(KEY, StateEpoch(1), 0))
    next_append(queue)

    with pytest.raises(AssertionError, match="ignored-stale-claim"):
        queue.succeeded(10)


# ------------------------------------------------ cold snapshots


def a_queue_with_cold_states() -> StateQueue:
    """All of `KEYS` were written at 1000 ms; the last one was updated many times."""
    return a_queue(*map(a_snapshot, KEYS), *[an_update(KEYS[4])] * 12, updates_per_snapshot=1)


def test_cold_states_are_snapshotted_in_as_many_appends_as_it_takes() -> None:
    # Given
    queue = a_queue_with_cold_states()
    ticket = queue.submit(ColdSnapshots(not_written_since_ms=2000))
    first = next_append(queue, max_bytes=ONE_RECORD_BYTES)
    queue.succeeded(100)
    was_done = ticket.is_done

    # When
    appends = append_everything(queue)

    # Then
    assert [records_of(first), *appends] == [
        [a_snapshot(KEYS[0], snapshot_epoch=1, written_ms=5000)],
        [a_snapshot(key, snapshot_epoch=1, written_ms=5000) for key in KEYS[1:]],
    ]
    assert (was_done, ticket.is_done, ticket.response) == (False, True, 5)
    assert queue.fold.recovery_point() == 100


def test_a_state_that_is_written_in_the_same_append_is_not_cold() -> None:
    # Given
    queue = a_queue_with_cold_states()
    ticket = queue.submit(ColdSnapshots(not_written_since_ms=2000))
    queue.submit(an_acknowledgement(5, key=KEYS[0]))

    # When
    appends = append_everything(queue)

    # Then
    assert appends == [
        [
            an_update(KEYS[0], a_batch(5, 5), start_offset=0, complete_count=1),
            *[a_snapshot(key, snapshot_epoch=1, written_ms=5000) for key in KEYS[1:]],
        ]
    ]
    assert ticket.response == 4


def test_a_state_that_goes_meanwhile_is_not_snapshotted() -> None:
    # Given
    queue = a_queue_with_cold_states()
    ticket = queue.submit(ColdSnapshots(not_written_since_ms=2000))
    next_append(queue, max_bytes=ONE_RECORD_BYTES)
    queue.submit(Delete(KEYS[1]))
    queue.succeeded(100)
    next_append(queue, max_bytes=ONE_RECORD_BYTES)
    queue.succeeded(101)

    # When
    append_everything(queue)

    # Then
    assert set(queue.fold.states) == set(KEYS) - {KEYS[1]}
    assert ticket.response == 4


def test_operations_go_before_cold_snapshots() -> None:
    # Given
    queue = a_queue_with_cold_states()
    queue.submit(ColdSnapshots(not_written_since_ms=2000))
    queue.submit(an_acknowledgement(5, key=KEYS[0]))
    queue.submit(an_acknowledgement(5, key=KEYS[1]))

    # When
    append = next_append(queue, max_bytes=ONE_RECORD_BYTES)

    # Then
    assert records_of(append) == [an_update(KEYS[0], a_batch(5, 5), start_offset=0, complete_count=1)]
