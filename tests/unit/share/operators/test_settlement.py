"""What an operator does with records in flight, through the share-partition that holds them."""

from collections.abc import Sequence

import pytest

from kproxy.errors import ApiError, InvalidRecordState, InvalidRequest
from kproxy.share.identifiers import GroupId, MemberId, SharePartitionKey, TopicId
from kproxy.share.limits import ShareLimits
from kproxy.share.operators.settlement import OperatorAction
from kproxy.share.record_state import RecordState
from kproxy.share.share_partition import SharePartition
from kproxy.share.state_batches import StateBatch
from tests.worlds.share_builders import SaidBatch

ALICE = MemberId("alice")
RELEASE, ACCEPT, ARCHIVE = OperatorAction
AVAILABLE, ACKNOWLEDGED, ARCHIVED = RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVED


def a_window() -> SharePartition:
    """100 and 101 held by alice, for the last time and the first one; 102 delivered before; 103 done with."""
    window = SharePartition(
        SharePartitionKey(GroupId("workers"), TopicId(b"t" * 16), 0),
        start_offset=100,
        state_batches=[
            StateBatch(100, 100, AVAILABLE, 1),
            StateBatch(102, 102, AVAILABLE, 1),
            StateBatch(103, 103, ACKNOWLEDGED, 1),
        ],
        limits=ShareLimits(delivery_count_limit=2),
    )
    for offset in (100, 101):
        window.acquire(
            ALICE,
            [(offset, offset)],
            fetch_offset=offset,
            max_records=1,
            batch_size=1,
            is_record_limit=True,
            now_ms=0,
        )
    return window


def states(window: SharePartition) -> list[tuple[int, int, str]]:
    return [(run.first_offset, run.last_offset, run.state.name) for run in window.view().ranges]


@pytest.mark.parametrize(
    ("action", "spans", "after"),
    [
        (RELEASE, [(100, 101)], [(100, ARCHIVED, 2), (101, AVAILABLE, 1)]),
        (ACCEPT, [(100, 100), (101, 101)], [(100, ACKNOWLEDGED, 2), (101, ACKNOWLEDGED, 1)]),
        (ARCHIVE, [(101, 102)], [(101, ARCHIVED, 1), (102, ARCHIVED, 1)]),
    ],
)
def test_records_are_settled_whoever_holds_them(
    action: OperatorAction, spans: Sequence[tuple[int, int]], after: Sequence[tuple[int, RecordState, int]]
) -> None:
    # Given
    window = a_window()

    # When
    delta = window.settle(window.plan(action, spans))

    # Then
    written = [
        (offset, batch.state, batch.delivery_count)
        for batch in delta.batches
        for offset in range(batch.first_offset, batch.last_offset + 1)
    ]
    assert written == list(after)


def test_to_plan_changes_nothing_and_tells_what_is_and_what_is_to_be() -> None:
    # Given
    window = a_window()
    before = window.view()

    # When
    settlement = window.plan(RELEASE, [(100, 101)])

    # Then
    assert window.view() == before
    assert [run.lock.member_id if run.lock else None for run in settlement.before] == ["alice", "alice"]
    assert [(run.first_offset, run.state) for run in settlement.after] == [(100, ARCHIVED), (101, AVAILABLE)]


def test_who_acknowledges_afterwards_hears_what_is_heard_when_a_lock_ran_out() -> None:
    # Given
    window = a_window()
    window.settle(window.plan(ARCHIVE, [(101, 101)]))

    # When
    with pytest.raises(InvalidRecordState):
        window.acknowledge(ALICE, [SaidBatch(101, 101, [1])], now_ms=1)

    # Then
    assert (101, 101, "ARCHIVED") in states(window)


def test_what_was_refused_by_the_log_is_held_again() -> None:
    # Given
    window = a_window()
    before = states(window)
    delta = window.settle(window.plan(ACCEPT, [(100, 101)]))

    # When
    window.take_back(delta)

    # Then
    assert states(window) == before


@pytest.mark.parametrize(
    ("action", "spans", "error", "reason"),
    [
        (RELEASE, [], InvalidRequest, "no offsets"),
        (RELEASE, [(101, 100)], InvalidRequest, "reversed"),
        (RELEASE, [(100, 101), (101, 101)], InvalidRequest, "offset 101 is not above 101"),
        (RELEASE, [(100, 104)], InvalidRequest, "offset 104 was never acquired, the last one is 103"),
        (RELEASE, [(99, 100)], InvalidRecordState, "offset 99 is done with: what is in flight begins at 100"),
        (
            RELEASE,
            [(100, 102)],
            InvalidRecordState,
            "offset 102 is Available, which release leaves as it is; archive",
        ),
        (
            ACCEPT,
            [(102, 102)],
            InvalidRecordState,
            "offset 102 is Available, which accept leaves as it is; archive",
        ),
        (
            ARCHIVE,
            [(103, 103)],
            InvalidRecordState,
            "offset 103 is Acknowledged, which archive leaves as it is",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_as_a_whole(
    action: OperatorAction, spans: Sequence[tuple[int, int]], error: type[ApiError], reason: str
) -> None:
    # Given
    window = a_window()
    before = window.view()

    # When
    with pytest.raises(error, match=reason):
        window.plan(action, spans)

    # Then
    assert window.view() == before


@pytest.mark.parametrize(
    ("action", "spans", "reason"),
    [
        (ACCEPT, [(100, 101)], "offset 100 is held by 'alice', and not by 'bob'"),
        (ARCHIVE, [(102, 102)], "offset 102 is held by nobody, and not by 'bob'"),
    ],
)
def test_what_another_member_holds_by_now_is_left_alone(
    action: OperatorAction, spans: Sequence[tuple[int, int]], reason: str
) -> None:
    # Given
    window = a_window()

    # When
    with pytest.raises(InvalidRecordState) as raised:
        window.plan(action, spans, holder=MemberId("bob"))

    # Then
    assert str(raised.value) == reason


def test_what_the_member_holds_that_was_seen_is_settled() -> None:
    # Given
    window = a_window()

    # When
    window.settle(window.plan(ACCEPT, [(100, 101)], holder=ALICE))

    # Then
    assert states(window) == [(102, 102, "AVAILABLE"), (103, 103, "ACKNOWLEDGED")]


def test_what_was_put_back_is_as_it_was_however_it_is_cut_into_runs() -> None:
    # Given
    window = a_window()
    settlement = window.plan(ARCHIVE, [(100, 102)])
    window.take_back(window.settle(settlement))

    # When
    found = settlement.first_changed(window.view().ranges)

    # Then
    assert found is None


@pytest.mark.parametrize(
    ("offset", "state"), [(100, None), (101, ARCHIVED), (102, ARCHIVED)], ids=["passed", "in between", "last"]
)
def test_the_first_offset_that_is_not_as_it_was_is_found(offset: int, state: RecordState | None) -> None:
    # Given
    window = a_window()
    settlement = window.plan(ARCHIVE, [(100, 102)])
    window.settle(window.plan(ARCHIVE, [(offset, offset)]))

    # When
    found = settlement.first_changed(window.view().ranges)

    # Then
    assert found is not None
    changed, run = found
    assert (changed, None if run is None else run.state) == (offset, state)
