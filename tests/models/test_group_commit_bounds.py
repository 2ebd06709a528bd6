"""What bounds appends, what a failure does, and snapshots that wait for room."""

from collections.abc import Callable

import pytest

from kproxy.errors import CoordinatorNotAvailable, StateLogUnavailable, StateNotWritten
from kproxy.share.identifiers import StateEpoch
from kproxy.statelog.operations import ColdSnapshots, Delete, Initialize, Load, ReadSummary
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
    queue.submit(Load(OTHER_KEY))

    # When
    refused = queue.submit(Delete(KEY))

    # Then
    assert type(refused.refusal) is CoordinatorNotAvailable
    assert queue.waiting_count == 2


def test_a_write_that_finds_the_queue_full_is_certainly_not_written() -> None:
    """So that what it tells of is taken back: other members would be given what is held, were it discarded."""
    # Given
    queue = a_queue(a_snapshot(), max_waiting=2)
    queue.submit(an_acknowledgement(5))
    queue.submit(an_acknowledgement(6))

    # When
    refused = queue.submit(an_acknowledgement(7))

    # Then
    assert type(refused.refusal) is StateNotWritten
    assert queue.waiting_count == 2


@pytest.mark.parametrize(
    "other", [Load(OTHER_KEY), Delete(OTHER_KEY), Initialize(OTHER_KEY, StateEpoch(0), 0)]
)
def test_half_of_the_places_are_for_writes_alone(other: Load | Delete | Initialize) -> None:
    # Given
    queue = a_queue(a_snapshot(), max_waiting=4)
    others = [queue.submit(other), queue.submit(other)]

    # When
    refused, writes = queue.submit(other), [queue.submit(an_acknowledgement(offset)) for offset in (5, 6)]

    # Then
    assert type(refused.refusal) is CoordinatorNotAvailable
    assert not any(ticket.is_done for ticket in [*others, *writes])


def test_places_are_free_again_whatever_became_of_those_who_had_them() -> None:
    # Given
    queue = a_queue(a_snapshot(), max_waiting=4)
    ends: list[Callable[[], object]] = [
        lambda: append_everything(queue),
        lambda: queue.fail(StateLogUnavailable("gone")),
    ]

    # When
    for end in ends:
        for operation in (Load(KEY), ColdSnapshots(0), an_acknowledgement(5), an_acknowledgement(6)):
            queue.submit(operation)
        end()

    # Then
    assert queue.waiting_count == 0
    assert not any(queue.submit(operation).is_done for operation in (Load(KEY), ColdSnapshots(0)))


def test_who_only_looks_at_what_nothing_changes_is_answered_at_once() -> None:
    """Whatever number is asked for, then, takes no place from anybody."""
    # Given
    queue = a_queue(a_snapshot(), max_waiting=2)
    queue.submit(Load(OTHER_KEY))
    queue.submit(an_acknowledgement(6, key=OTHER_KEY))

    # When
    ticket = queue.submit(ReadSummary(KEY))

    # Then
    assert ticket.response == queue.fold.states[KEY]


def test_who_looks_at_what_is_being_changed_is_answered_behind_that() -> None:
    # Given
    queue = a_queue(a_snapshot())
    queue.submit(an_acknowledgement(5))
    waiting = queue.submit(ReadSummary(KEY))
    next_append(queue)

    # When
    in_flight = queue.submit(ReadSummary(KEY))
    is_early = waiting.is_done or in_flight.is_done
    queue.succeeded(queue.fold.applied_offset + 1)
    append_everything(queue)

    # Then
    assert not is_early
    assert waiting.response == in_flight.response == queue.fold.states[KEY]


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
