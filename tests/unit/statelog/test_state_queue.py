"""Operations wait, records do not."""

from collections.abc import Callable

import pytest

from kproxy.errors import (
    ApiError,
    FencedLeaderEpoch,
    FencedStateEpoch,
    InvalidRequest,
    StateNotWritten,
)
from kproxy.share.identifiers import LeaderEpoch, StateEpoch
from kproxy.statelog.append_draft import MAX_MERGED_WRITES
from kproxy.statelog.operations import ColdSnapshots, Delete, Initialize, Load, Operation, Read, ReadSummary
from kproxy.statelog.state_records import (
    ShareSnapshot,
    StateRecord,
    StateTombstone,
)
from kproxy.statelog.tickets import Ticket
from tests.worlds.state_log_builders import (
    AVAILABLE,
    KEY,
    OTHER_KEY,
    a_batch,
    a_delta,
    a_snapshot,
    a_state,
    an_update,
)
from tests.worlds.state_queue_driver import (
    a_queue,
    a_write,
    an_acknowledgement,
    an_actor,
    append_everything,
    decoded,
    next_append,
    records_of,
)

# ------------------------------------------------ one operation


def test_a_write_is_durable_when_its_append_succeeded() -> None:
    # Given
    queue = a_queue(a_snapshot())
    ticket = queue.submit(an_acknowledgement(5))
    append = next_append(queue)
    was_done = ticket.is_done

    # When
    queue.succeeded(2)

    # Then
    assert (was_done, ticket.is_done, ticket.refusal, ticket.response) == (False, True, None, None)
    assert queue.fold.states[KEY] == a_state(0, 1, a_batch(5, 5))
    assert queue.fold.applied_offset == 2
    ((record, claim_epoch, actors),) = [(one.record, one.claim_epoch, one.actors) for one in decoded(append)]
    assert record == an_update(KEY, a_batch(5, 5), start_offset=0, complete_count=1)
    assert claim_epoch == 0
    assert actors == (an_actor("alice", (5, 5)),)


def test_nothing_changes_before_the_append_succeeded() -> None:
    # Given
    queue = a_queue(a_snapshot())
    queue.submit(an_acknowledgement(5))

    # When
    next_append(queue)

    # Then
    assert queue.fold.states[KEY] == a_state()


@pytest.mark.parametrize(
    ("operation", "record", "response"),
    [
        (Load(KEY), an_update(leader_epoch=4, start_offset=0), a_state(leader_epoch=4)),
        (
            Read(KEY, LeaderEpoch(7)),
            an_update(leader_epoch=7, start_offset=0),
            a_state(leader_epoch=7),
        ),
        (Delete(KEY), StateTombstone(KEY), None),
        (
            Initialize(KEY, StateEpoch(2), -1),
            a_snapshot(
                snapshot_epoch=1,
                state_epoch=2,
                start_offset=-1,
                complete_count=-1,
                created_ms=5000,
                written_ms=5000,
            ),
            None,
        ),
    ],
)
def test_an_operation_answers_when_its_record_is_durable(
    operation: Operation, record: StateRecord, response: object
) -> None:
    # Given
    queue = a_queue(a_snapshot(leader_epoch=3))
    ticket = queue.submit(operation)

    # When
    appends = append_everything(queue)

    # Then
    assert appends == [[record]]
    assert (ticket.is_done, ticket.refusal, ticket.response) == (True, None, response)


def test_a_load_that_becomes_a_snapshot_answers_what_is_stored() -> None:
    # Given
    queue = a_queue(a_snapshot(), updates_per_snapshot=0)
    ticket = queue.submit(Load(KEY))

    # When
    append_everything(queue)

    # Then
    assert ticket.response == a_state(leader_epoch=1, snapshot_epoch=1)


@pytest.mark.parametrize(
    ("operation", "response"),
    [
        (Load(OTHER_KEY), None),
        (Read(KEY, LeaderEpoch(3)), a_state(leader_epoch=3)),
        (ReadSummary(KEY), a_state(leader_epoch=3)),
        (ReadSummary(OTHER_KEY), None),
        (Delete(OTHER_KEY), None),
        (Initialize(KEY, StateEpoch(1), 0), None),
        (ColdSnapshots(9999), 0),
    ],
)
def test_what_needs_no_record_is_answered_without_an_append(operation: Operation, response: object) -> None:
    # Given
    queue = a_queue(a_snapshot(leader_epoch=3))
    ticket = queue.submit(operation)

    # When
    append = next_append(queue)

    # Then
    assert append is None
    assert (ticket.is_done, ticket.refusal, ticket.response) == (True, None, response)
    assert queue.waiting_count == 0


@pytest.mark.parametrize(
    ("operation", "refusal"),
    [
        (an_acknowledgement(5, leader_epoch=2), FencedLeaderEpoch),
        (Read(KEY, LeaderEpoch(2)), FencedLeaderEpoch),
        (Initialize(KEY, StateEpoch(0), 0), FencedStateEpoch),
        (an_acknowledgement(5, key=OTHER_KEY), InvalidRequest),
    ],
)
def test_a_refused_operation_is_settled_at_once_and_harms_no_other(
    operation: Operation, refusal: type[ApiError]
) -> None:
    # Given
    queue = a_queue(a_snapshot(leader_epoch=3))
    refused = queue.submit(operation)
    ticket = queue.submit(an_acknowledgement(7, leader_epoch=3))

    # When
    append = next_append(queue)

    # Then
    assert type(refused.refusal) is refusal
    assert len(records_of(append)) == 1
    assert not ticket.is_done


def test_a_write_that_no_state_could_take_is_refused_before_it_is_merged() -> None:
    # Given
    queue = a_queue(a_snapshot())
    ticket = queue.submit(an_acknowledgement(5))

    # When
    refused = queue.submit(a_write(a_delta(0, 0, a_batch(9, 8))))

    # Then
    assert type(refused.refusal) is InvalidRequest
    assert append_everything(queue) == [[an_update(KEY, a_batch(5, 5), start_offset=0, complete_count=1)]]
    assert ticket.refusal is None


# ------------------------------------------------ many operations


def test_writes_to_one_share_partition_become_one_record() -> None:
    # Given
    queue = a_queue(a_snapshot())
    tickets = [
        queue.submit(a_write(a_delta(0, 3, a_batch(5, 7)), an_actor("alice", (5, 7)))),
        queue.submit(a_write(a_delta(2, 2, a_batch(8, 9)), an_actor("bob", (8, 9)))),
        queue.submit(a_write(a_delta(2, 4, a_batch(6, 7, AVAILABLE, 2)), an_actor("carol", (6, 7)))),
    ]

    # When
    append = next_append(queue)
    queue.succeeded(2)

    # Then
    ((record, actors),) = [(one.record, one.actors) for one in decoded(append)]
    assert record == an_update(
        KEY,
        a_batch(5, 5),
        a_batch(6, 7, AVAILABLE, 2),
        a_batch(8, 9),
        start_offset=2,
        complete_count=4,
    )
    # Carol did something else with what Alice had done: both is part of the history.
    assert actors == (an_actor("alice", (5, 7)), an_actor("bob", (8, 9)), an_actor("carol", (6, 7)))
    assert all(ticket.is_done and ticket.refusal is None for ticket in tickets)


def test_share_partitions_share_an_append() -> None:
    # Given
    queue = a_queue(a_snapshot(KEY), a_snapshot(OTHER_KEY))
    queue.submit(an_acknowledgement(5, key=KEY))
    queue.submit(an_acknowledgement(7, key=OTHER_KEY))

    # When
    appends = append_everything(queue)

    # Then
    assert appends == [
        [
            an_update(KEY, a_batch(5, 5), start_offset=0, complete_count=1),
            an_update(OTHER_KEY, a_batch(7, 7), start_offset=0, complete_count=1),
        ]
    ]


@pytest.mark.parametrize(
    "second",
    [
        Load(KEY),
        Delete(KEY),
        a_write(a_delta(0, 2, a_batch(6, 6)), leader_epoch=1),
        a_write(a_delta(0, 2, a_batch(6, 6)), state_epoch=2),
    ],
)
def test_another_operation_on_the_share_partition_waits_for_the_next_append(second: Operation) -> None:
    # Given
    queue = a_queue(a_snapshot())
    queue.submit(an_acknowledgement(5))
    queue.submit(second)

    # When
    appends = append_everything(queue)

    # Then
    assert [len(records) for records in appends] == [1, 1]


def test_no_write_overtakes_another_operation_on_its_share_partition() -> None:
    """The write after the load is the new owner's, and merging it into the one before would fence it."""
    # Given
    queue = a_queue(a_snapshot())
    tickets = [
        queue.submit(an_acknowledgement(5)),
        queue.submit(Load(KEY)),
        queue.submit(an_acknowledgement(6)),
        queue.submit(an_acknowledgement(7, leader_epoch=1)),
    ]

    # When
    append_everything(queue)

    # Then
    assert [type(ticket.refusal) for ticket in tickets] == [
        type(None),
        type(None),
        FencedLeaderEpoch,
        type(None),
    ]
    assert queue.fold.states[KEY] == a_state(0, 1, a_batch(5, 5), a_batch(7, 7), leader_epoch=1)


def test_what_arrives_while_an_append_is_in_flight_goes_into_the_next() -> None:
    # Given
    queue = a_queue(a_snapshot())
    queue.submit(an_acknowledgement(5))
    next_append(queue)
    late = queue.submit(an_acknowledgement(6))

    # When
    queue.succeeded(2)

    # Then
    assert not late.is_done
    assert queue.waiting_count == 1
    assert append_everything(queue) == [[an_update(KEY, a_batch(6, 6), start_offset=0, complete_count=1)]]


def test_a_snapshot_holds_everything_that_was_written_before_it() -> None:
    # Given
    queue = a_queue(a_snapshot(), updates_per_snapshot=1)
    for offset in (5, 7, 9):
        queue.submit(an_acknowledgement(offset))
        next_append(queue)
        queue.succeeded(queue.fold.applied_offset + 1)

    # When
    queue.submit(an_acknowledgement(11))
    append = next_append(queue)

    # Then
    (snapshot,) = records_of(append)
    assert isinstance(snapshot, ShareSnapshot)
    assert [batch.first_offset for batch in snapshot.state_batches] == [5, 7, 9, 11]


def test_one_record_does_not_hold_any_number_of_writes() -> None:
    # Given
    queue = a_queue(a_snapshot(), max_waiting=2 * MAX_MERGED_WRITES)
    tickets = [queue.submit(an_acknowledgement(2 * index)) for index in range(MAX_MERGED_WRITES + 1)]

    # When
    append = next_append(queue)
    queue.succeeded(2)

    # Then
    (first,) = decoded(append)
    assert len(first.actors) == MAX_MERGED_WRITES
    assert [ticket.is_done for ticket in tickets] == [True] * MAX_MERGED_WRITES + [False]


def test_tickets_are_settled_in_order_when_everything_is_replayed() -> None:
    # Given
    queue = a_queue(a_snapshot(KEY), a_snapshot(OTHER_KEY))
    seen: list[tuple[str, int]] = []

    def note(name: str) -> Callable[[Ticket], None]:
        return lambda _: seen.append((name, queue.fold.applied_offset))

    queue.submit(an_acknowledgement(5)).on_done = note("first")
    queue.submit(an_acknowledgement(5, key=OTHER_KEY)).on_done = note("second")
    next_append(queue)

    # When
    queue.succeeded(3)

    # Then
    assert seen == [("first", 4), ("second", 4)]


def test_what_fails_together_is_refused_last_first() -> None:
    """Whoever takes back what was refused finds everything as it was right after that."""
    # Given
    queue = a_queue(a_snapshot(KEY), a_snapshot(OTHER_KEY))
    seen: list[str] = []

    def submit(operation: Operation, name: str) -> None:
        queue.submit(operation).on_done = lambda _: seen.append(name)

    submit(an_acknowledgement(5), "first in flight")
    submit(an_acknowledgement(6), "second in flight")
    next_append(queue)
    submit(an_acknowledgement(7), "first that waits")
    submit(an_acknowledgement(8), "second that waits")
    submit(Load(KEY), "third that waits")

    # When
    queue.fail(StateNotWritten("too late"))

    # Then
    assert seen == [
        "third that waits",
        "second that waits",
        "first that waits",
        "second in flight",
        "first in flight",
    ]
    assert queue.waiting_count == 0
