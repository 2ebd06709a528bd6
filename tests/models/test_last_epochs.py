"""Where epochs end: at 2147483647, and nothing that comes then stops a slot."""

import pytest

from kproxy.errors import InvalidRequest
from kproxy.share.identifiers import LeaderEpoch, StateEpoch
from kproxy.statelog.operations import ColdSnapshots, Delete, Initialize, Load, Operation, Read
from kproxy.statelog.share_coordinator import LAST_EPOCH
from tests.worlds.state_log_builders import (
    KEY,
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
    append_everything,
)

OF_THE_LAST_LEADER = [
    Read(KEY, LeaderEpoch(LAST_EPOCH)),
    a_write(a_delta(0, 0), leader_epoch=LAST_EPOCH),
    an_acknowledgement(5, leader_epoch=LAST_EPOCH),
]


def test_nobody_but_a_load_takes_the_last_leader_epoch() -> None:
    # Given
    queue = a_queue(a_snapshot(leader_epoch=LAST_EPOCH - 1))
    refused = queue.submit(Read(KEY, LeaderEpoch(LAST_EPOCH)))
    written = queue.submit(a_write(a_delta(0, 0), leader_epoch=LAST_EPOCH))
    ticket = queue.submit(Load(KEY))

    # When
    append_everything(queue)

    # Then
    assert (written.is_done, written.refusal) == (True, None)
    assert type(refused.refusal) is InvalidRequest
    assert str(refused.refusal).endswith("could not be followed by another")
    assert ticket.response == a_state(leader_epoch=LAST_EPOCH)


@pytest.mark.parametrize("operation", OF_THE_LAST_LEADER)
def test_whoever_has_the_last_leader_epoch_goes_on_with_it(operation: Operation) -> None:
    # Given
    queue = a_queue(a_snapshot(leader_epoch=LAST_EPOCH))
    ticket = queue.submit(operation)

    # When
    append_everything(queue)

    # Then
    assert (ticket.is_done, ticket.refusal) == (True, None)


def test_the_last_leader_epoch_is_followed_by_itself() -> None:
    # Given
    queue = a_queue(a_snapshot(leader_epoch=LAST_EPOCH))
    ticket = queue.submit(Load(KEY))

    # When
    appends = append_everything(queue)

    # Then
    assert appends == []
    assert ticket.response == a_state(leader_epoch=LAST_EPOCH)


def test_after_the_last_snapshot_epoch_there_are_only_updates() -> None:
    # Given
    queue = a_queue(a_snapshot(snapshot_epoch=LAST_EPOCH), updates_per_snapshot=0)
    ticket = queue.submit(an_acknowledgement(5))

    # When
    appends = append_everything(queue)

    # Then
    update = an_update(KEY, a_batch(5, 5), snapshot_epoch=LAST_EPOCH, start_offset=0, complete_count=1)
    assert appends == [[update]]
    assert ticket.refusal is None


def test_what_has_the_last_snapshot_epoch_is_never_cold() -> None:
    # Given
    updates = [an_update(snapshot_epoch=LAST_EPOCH)] * 3
    queue = a_queue(a_snapshot(snapshot_epoch=LAST_EPOCH), *updates, updates_per_snapshot=0)
    ticket = queue.submit(ColdSnapshots(9999))

    # When
    appends = append_everything(queue)

    # Then
    assert appends == []
    assert ticket.response == 0


def test_what_has_the_last_snapshot_epoch_is_deleted_before_it_begins_anew() -> None:
    # Given
    queue = a_queue(a_snapshot(snapshot_epoch=LAST_EPOCH))
    again = Initialize(KEY, StateEpoch(2), 0)
    tickets = [queue.submit(again), queue.submit(Delete(KEY)), queue.submit(again)]

    # When
    append_everything(queue)

    # Then
    refusal = tickets[0].refusal
    assert type(refusal) is InvalidRequest
    assert str(refusal).endswith("its state has to be deleted first")
    assert [ticket.refusal for ticket in tickets[1:]] == [None, None]
    assert queue.fold.states[KEY] == a_state(state_epoch=2)
