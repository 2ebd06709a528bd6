"""Planted corruptions, each found."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given

from kproxy.jobs.verify_rules import NOTICE, VIOLATION, Examiner, Problem
from kproxy.share.identifiers import LeaderEpoch, SnapshotEpoch, StateEpoch
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from kproxy.statelog.actors import ACTOR_HEADER
from kproxy.statelog.claims import claim_header
from kproxy.statelog.fold import StateLogFold
from kproxy.statelog.state_records import ShareSnapshot, ShareUpdate, encode_state_record
from kproxy.wire.records import Record
from tests.spark.histories import KEYS, History, histories

KEY = KEYS[0]
DONE = StateBatch(10, 14, RecordState.ACKNOWLEDGED, 1)


def problems_in(records: Sequence[Record], *, delivery_limit: int = 5) -> list[Problem]:
    examiner = Examiner(StateLogFold(on_corrupt="skip"), delivery_limit)
    found = [problem for record in records for problem in examiner.examine(record)]
    return [*found, *examiner.orphans()]


def a_sound_history() -> History:
    history = History()
    history.claim()
    history.snapshot(KEY)
    history.update(KEY, [DONE], 5)
    return history


def an_update(
    *batches: StateBatch, start_offset: int = 5, leader_epoch: int = 0, snapshot_epoch: int = 1
) -> Record:
    update = ShareUpdate(
        KEY, SnapshotEpoch(snapshot_epoch), LeaderEpoch(leader_epoch), start_offset, 0, batches
    )
    return encode_state_record(update, claim_epoch=0, actors=())


def a_snapshot(*, snapshot_epoch: int = 2, state_epoch: int = 1, start_offset: int = 5) -> Record:
    epochs = (SnapshotEpoch(snapshot_epoch), StateEpoch(state_epoch), LeaderEpoch(0))
    snapshot = ShareSnapshot(KEY, *epochs, start_offset, 1, 1, 0, ())
    return encode_state_record(snapshot, claim_epoch=0, actors=())


@pytest.mark.parametrize(
    ("planted", "detail"),
    [
        (lambda: Record(b"\x00\x09", b"?"), "unknown record type 9"),
        (lambda: replace(an_update(DONE), value=b"\x00\x00\x07"), "ShareUpdateValue"),
        (
            lambda: replace(an_update(DONE), headers=(claim_header(0), (ACTOR_HEADER, b"nobody"))),
            "names no actor",
        ),
        (lambda: a_snapshot(snapshot_epoch=1), "regressing snapshot epoch"),
        (lambda: a_snapshot(state_epoch=0), "regressing state epoch"),
        (lambda: a_snapshot(start_offset=4), "start offset 4 after 5"),
        (lambda: an_update(start_offset=4), "start offset 4 after 5"),
        (lambda: an_update(snapshot_epoch=7), "an update to snapshot 7"),
        (lambda: an_update(StateBatch(20, 24, RecordState.ARCHIVED, 6)), "delivered 6 times, more than 5"),
        (
            lambda: an_update(
                StateBatch(20, 24, RecordState.AVAILABLE, 1), StateBatch(24, 26, RecordState.AVAILABLE, 1)
            ),
            "overlapping state batches 20-24 and 24-26",
        ),
        (
            lambda: an_update(StateBatch(12, 12, RecordState.AVAILABLE, 2)),
            "12-12 is AVAILABLE, and 10-14 was",
        ),
        (lambda: replace(an_update(DONE), headers=()), "nobody who claimed"),
    ],
)
def test_a_planted_corruption_is_found(planted: Callable[[], Record], detail: str) -> None:
    # Given
    history = a_sound_history()
    bad = replace(planted(), offset=history.next_offset, timestamp_ms=1)

    # When
    problems = problems_in([*history.records, bad])

    # Then
    assert [(problem.what, problem.offset) for problem in problems] == [(VIOLATION, 3)]
    assert detail in problems[0].detail


def test_a_leader_epoch_that_regresses_is_found() -> None:
    # Given
    history = a_sound_history()
    later = replace(an_update(leader_epoch=4), offset=3)
    bad = replace(an_update(leader_epoch=3), offset=4)

    # When
    problems = problems_in([*history.records, later, bad])

    # Then
    assert [problem.offset for problem in problems] == [4]


def test_a_lost_snapshot_is_found() -> None:
    # Given
    history = a_sound_history()

    # When
    problems = problems_in([history.records[0], history.records[2]])

    # Then
    assert [(problem.what, problem.key) for problem in problems] == [(VIOLATION, KEY)]


def test_a_late_write_of_a_superseded_owner_is_noticed_and_no_violation() -> None:
    # Given
    history = a_sound_history()
    history.claim()
    history.late_update(KEY, [DONE], 0)

    # When
    problems = problems_in(history.records)

    # Then
    assert [(problem.what, problem.offset) for problem in problems] == [(NOTICE, 4)]


def test_a_state_epoch_anew_may_begin_lower() -> None:
    # Given
    history = a_sound_history()
    history.snapshot(KEY, is_new=True)

    # When
    problems = problems_in(history.records)

    # Then
    assert problems == []


@given(history=histories())
def test_the_examiner_folds_as_recovery_does(history: History) -> None:
    # Given
    examiner, fold = Examiner(StateLogFold(on_corrupt="skip"), 5), StateLogFold()

    # When
    for record in history.records:
        list(examiner.examine(record))
        fold.apply(record)

    # Then
    assert examiner.fold.image() == fold.image()
    assert examiner.record_count == len(history.records)
