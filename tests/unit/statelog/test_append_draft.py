"""What fits into an append, and what fits into none."""

import pytest

from kproxy.errors import UnwritableStateRecord
from kproxy.share.identifiers import LeaderEpoch, SharePartitionKey
from kproxy.statelog.append_draft import (
    MAX_MERGED_RUNS,
    MOST_BYTES,
    MOST_OPERATIONS,
    AppendDraft,
    WaitingOperation,
)
from kproxy.statelog.operations import ColdSnapshots, Delete, Read, ReadSummary
from kproxy.statelog.share_coordinator import CoordinatorResult
from kproxy.statelog.state_records import ShareSnapshot, ShareUpdate
from kproxy.statelog.tickets import Ticket
from kproxy.wire.record_batch_builder import record_size_bytes
from tests.worlds.state_log_builders import (
    ALICE,
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
    next_append,
    records_of,
)

SMALL_BYTES = 400
"""What a write with one actor fits into, and one with many does not."""
MANY_BATCHES = tuple(a_batch(2 * index, 2 * index) for index in range(50))


def test_an_append_takes_records_until_it_is_full() -> None:
    # Given
    draft = AppendDraft(5000, max_bytes=SMALL_BYTES, claim_epoch=0)
    results = [CoordinatorResult(((an_update(key), (ALICE,)),), None) for key in (KEY, OTHER_KEY)]

    # When
    taken = [draft.takes(result, KEY) for result in results]

    # Then
    assert taken == [True, False]
    assert draft.replayed == [an_update(KEY)]


def test_a_write_that_fits_into_no_append_is_refused_alone_and_never_sent() -> None:
    # Given
    queue = a_queue(a_snapshot(KEY), a_snapshot(OTHER_KEY))
    refused = queue.submit(a_write(a_delta(0, 0, *MANY_BATCHES), ALICE))
    ticket = queue.submit(an_acknowledgement(5, key=OTHER_KEY))

    # When
    append = next_append(queue, max_bytes=SMALL_BYTES)
    queue.succeeded(3)

    # Then
    with pytest.raises(UnwritableStateRecord, match=rf"about {KEY}; the state log takes 400 at most"):
        raise refused.refusal or AssertionError
    assert records_of(append) == [an_update(OTHER_KEY, a_batch(5, 5), start_offset=0, complete_count=1)]
    assert (ticket.is_done, ticket.refusal) == (True, None)
    assert queue.waiting_count == 0


def test_writes_that_are_too_large_together_are_written_one_after_the_other() -> None:
    # Given
    queue = a_queue(a_snapshot())
    tickets = [
        queue.submit(a_write(a_delta(0, 0, a_batch(offset, offset)), an_actor(f"member-{offset}")))
        for offset in (1, 3, 5)
    ]

    # When
    appends = []
    while (append := next_append(queue, max_bytes=SMALL_BYTES)) is not None:
        appends.append(records_of(append))
        queue.succeeded(queue.fold.applied_offset + 1)

    # Then
    assert len(appends) > 1
    assert all(ticket.is_done and ticket.refusal is None for ticket in tickets)
    assert queue.fold.states[KEY] == a_state(0, 0, a_batch(1, 1), a_batch(3, 3), a_batch(5, 5))


def test_a_write_that_is_too_large_spares_those_it_was_merged_with() -> None:
    # Given
    queue = a_queue(a_snapshot())
    tickets = [
        queue.submit(an_acknowledgement(101)),
        queue.submit(a_write(a_delta(0, 0, *MANY_BATCHES), ALICE)),
        queue.submit(an_acknowledgement(103)),
    ]

    # When
    while next_append(queue, max_bytes=SMALL_BYTES) is not None:
        queue.succeeded(queue.fold.applied_offset + 1)

    # Then
    assert [type(ticket.refusal) for ticket in tickets] == [
        type(None),
        UnwritableStateRecord,
        type(None),
    ]
    assert queue.fold.states[KEY] == a_state(0, 1, a_batch(101, 101), a_batch(103, 103))


@pytest.mark.parametrize("leader_epoch_behind", [0, 1], ids=["merged", "apart"])
def test_what_a_refused_write_says_does_not_become_durable_by_the_start_offset_of_a_later_one(
    leader_epoch_behind: int,
) -> None:
    """The later one was made in memory, where everything below its start offset was done with."""
    # Given
    queue = a_queue(a_snapshot())
    too_large = a_write(a_delta(0, 0, *MANY_BATCHES), ALICE)
    first = [queue.submit(too_large)]
    if leader_epoch_behind:
        queue.submit(an_acknowledgement(500, leader_epoch=1))
    behind = queue.submit(a_write(a_delta(10, 1, a_batch(120, 120)), ALICE))
    other_writer = queue.submit(a_write(a_delta(7, 0), leader_epoch=1))

    # When
    while next_append(queue, max_bytes=SMALL_BYTES) is not None:
        queue.succeeded(queue.fold.applied_offset + 1)

    # Then
    assert [type(ticket.refusal) for ticket in (*first, behind)] == [UnwritableStateRecord] * 2
    assert other_writer.refusal is None
    assert queue.fold.states[KEY].start_offset == 7
    assert queue.waiting_count == 0


def test_what_waits_between_a_refused_write_and_one_that_rests_on_it_is_answered() -> None:
    # Given
    queue = a_queue(a_snapshot())
    refused = queue.submit(a_write(a_delta(0, 0, *MANY_BATCHES), ALICE))
    between = queue.submit(ReadSummary(KEY))
    behind = queue.submit(a_write(a_delta(10, 1, a_batch(120, 120)), ALICE))

    # When
    append = next_append(queue, max_bytes=SMALL_BYTES)

    # Then
    assert append is None
    assert [type(ticket.refusal) for ticket in (refused, behind)] == [UnwritableStateRecord] * 2
    assert (between.is_done, between.refusal) == (True, None)
    assert queue.waiting_count == 0


def test_what_is_submitted_behind_writes_that_were_parted_comes_behind_them() -> None:
    # Given
    queue = a_queue(a_snapshot())
    for offset in (1, 3):
        queue.submit(a_write(a_delta(0, 0, a_batch(offset, offset)), an_actor(f"member-{offset}")))
    next_append(queue, max_bytes=SMALL_BYTES)
    late = [queue.submit(an_acknowledgement(5)), queue.submit(Delete(KEY))]

    # When
    queue.succeeded(2)
    append_everything(queue)

    # Then
    assert [ticket.refusal for ticket in late] == [None, None]
    assert KEY not in queue.fold.states


def test_a_record_that_its_format_has_no_room_for_does_not_stop_the_others() -> None:
    # Given
    queue = a_queue(a_snapshot(KEY), a_snapshot(OTHER_KEY))
    refused = queue.submit(a_write(a_delta(2**63, 0), ALICE))
    ticket = queue.submit(Read(OTHER_KEY, LeaderEpoch(1)))

    # When
    append_everything(queue)

    # Then
    assert type(refused.refusal) is UnwritableStateRecord
    assert ticket.refusal is None


def test_a_write_whose_snapshot_is_due_and_too_large_becomes_an_update() -> None:
    """Else every later write would be refused, too: the state does not become smaller by itself."""
    # Given
    queue = a_queue(a_snapshot(KEY, *MANY_BATCHES), an_update(KEY), an_update(KEY), updates_per_snapshot=2)
    ticket = queue.submit(an_acknowledgement(301))

    # When
    append = next_append(queue, max_bytes=SMALL_BYTES)
    queue.succeeded(queue.fold.applied_offset + 1)

    # Then
    (update,) = records_of(append)
    assert isinstance(update, ShareUpdate)
    assert ticket.refusal is None
    assert a_batch(301, 301) in queue.fold.states[KEY].state_batches


def test_a_snapshot_that_was_too_large_is_tried_again_after_as_many_updates() -> None:
    # Given
    queue = a_queue(a_snapshot(KEY, *MANY_BATCHES), an_update(KEY), an_update(KEY), updates_per_snapshot=2)
    queue.submit(an_acknowledgement(301))
    next_append(queue, max_bytes=SMALL_BYTES)
    queue.succeeded(queue.fold.applied_offset + 1)
    kinds = []

    # When
    for offset in (303, 305):
        queue.submit(an_acknowledgement(offset))
        (record,) = records_of(next_append(queue))
        kinds.append(type(record))
        queue.succeeded(queue.fold.applied_offset + 1)

    # Then
    assert kinds == [ShareUpdate, ShareSnapshot]


def test_a_cold_snapshot_that_is_too_large_is_left_out_and_told_when_the_others_are_durable() -> None:
    # Given
    queue = a_queue(
        a_snapshot(KEY, *MANY_BATCHES),
        a_snapshot(OTHER_KEY),
        *[an_update(OTHER_KEY)] * 4,
        updates_per_snapshot=1,
    )
    ticket = queue.submit(ColdSnapshots(9999))

    # When
    append = next_append(queue, max_bytes=SMALL_BYTES)
    was_done = ticket.is_done
    queue.succeeded(7)

    # Then
    (snapshot,) = records_of(append)
    assert isinstance(snapshot, ShareSnapshot)
    assert snapshot.key == OTHER_KEY
    assert not was_done
    assert type(ticket.refusal) is UnwritableStateRecord
    assert queue.waiting_count == 0


def test_merged_writes_part_in_the_order_in_which_they_came() -> None:
    # Given
    writes = [an_acknowledgement(offset) for offset in range(3)]
    tickets = [Ticket() for _ in writes]
    waiting = WaitingOperation(writes[0], tickets[0])
    for write, ticket in zip(writes[1:], tickets[1:], strict=True):
        waiting.add(write, ticket)

    # When
    earlier, later = waiting.halves(writes[0])

    # Then
    assert (earlier.operation, earlier.more_writes, earlier.tickets) == (writes[0], [], tickets[:1])
    assert (later.operation, later.more_writes, later.tickets) == (writes[1], writes[2:], tickets[1:])


@pytest.mark.parametrize("updates_each", [0, 2])
def test_snapshots_of_cold_states_are_taken_some_at_a_time_until_all_are_durable(updates_each: int) -> None:
    # Given
    keys = [SharePartitionKey(KEY.group_id, KEY.topic_id, number) for number in range(MOST_OPERATIONS + 1)]
    updates = [an_update(key) for key in keys for _ in range(updates_each)]
    enough = [an_update(keys[-1])] * (len(keys) + 2)
    queue = a_queue(*(a_snapshot(key) for key in keys), *updates, *enough, updates_per_snapshot=1)
    ticket = queue.submit(ColdSnapshots(9999))

    # When
    counts = [len(append) for append in append_everything(queue)]

    # Then
    assert counts == [MOST_OPERATIONS, 1]
    assert (ticket.is_done, ticket.response) == (True, len(keys))


def test_an_append_takes_no_more_once_its_records_are_large() -> None:
    # Given
    keys = [SharePartitionKey(KEY.group_id, KEY.topic_id, number) for number in range(20)]
    queue = a_queue(*map(a_snapshot, keys))
    wordy = [an_actor("a" * 500, (1, 1))] * 100
    for key in keys:
        queue.submit(a_write(a_delta(0, 0, a_batch(1, 1)), *wordy, key=key))

    # When
    append = next_append(queue)

    # Then
    assert append is not None
    sizes = [record_size_bytes(record) for record in append.records]
    assert sum(sizes[:-1]) < MOST_BYTES <= sum(sizes)
    assert queue.waiting_count == len(keys)


def test_writes_become_one_record_until_it_has_very_many_runs() -> None:
    # Given
    queue = a_queue(a_snapshot())
    offsets = range(0, 2_000, 2)
    write = a_write(
        a_delta(0, 0, *(a_batch(offset, offset) for offset in offsets)),
        an_actor("alice", *((offset, offset) for offset in offsets)),
    )
    tickets = [queue.submit(write) for _ in range(20)]

    # When
    append = next_append(queue)
    queue.succeeded(queue.fold.applied_offset + 1)

    # Then
    assert append is not None
    merged_count = sum(ticket.is_done for ticket in tickets)
    assert merged_count == MAX_MERGED_RUNS // (2 * len(offsets))
    assert [ticket.is_done for ticket in tickets] == [True] * merged_count + [False] * (20 - merged_count)
    append_everything(queue)
    assert all(ticket.is_done and ticket.refusal is None for ticket in tickets)


def test_operations_of_very_many_runs_are_looked_at_some_at_a_time() -> None:
    # Given
    keys = [SharePartitionKey(KEY.group_id, KEY.topic_id, number) for number in range(30)]
    queue = a_queue(*map(a_snapshot, keys))
    many = tuple(a_batch(2 * index, 2 * index) for index in range(2_000))
    tickets = [queue.submit(a_write(a_delta(0, 0, *many), ALICE, key=key)) for key in keys]

    # When
    append = next_append(queue, max_bytes=SMALL_BYTES)

    # Then
    assert append is None
    refused = [ticket.is_done for ticket in tickets]
    assert sum(refused) == 5, "each is as much work as 101 operations"
    assert refused == sorted(refused, reverse=True)
    assert queue.waiting_count == len(keys) - sum(refused)
