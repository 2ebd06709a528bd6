"""Planted corruptions, each found."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.jobs.verify.verify_rules import NOTICE, VIOLATION, Examiner, LogPlace, Problem
from kproxy.share.identifiers import LeaderEpoch, SharePartitionKey, SnapshotEpoch, StateEpoch
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from kproxy.statelog.actors import ACTOR_HEADER, Actor, Cause
from kproxy.statelog.claims import CLAIM_HEADER, STATE_FORMAT_VERSION, Claim, claim_header
from kproxy.statelog.partitioning import group_partition, spread_partition
from kproxy.statelog.state_log_fold import StateLogFold
from kproxy.statelog.state_records import ShareSnapshot, ShareUpdate, encode_state_record
from kproxy.wire.records import Record
from tests.worlds.consumptions import STEPS, Step, consumption_of
from tests.worlds.histories import KEYS, History, histories

KEY: Final = KEYS[0]
ALICE: Final = Actor(Cause.ACKNOWLEDGE, "alice")
PREFIX: Final = StateBatch(0, 4, RecordState.ACKNOWLEDGED, 1)
DONE: Final = StateBatch(10, 14, RecordState.ACKNOWLEDGED, 1)
RELEASED: Final = StateBatch(20, 24, RecordState.AVAILABLE, 2)


def problems_in(
    records: Sequence[Record], *, delivery_limit: int = 5, place: LogPlace | None = None
) -> list[Problem]:
    examiner = Examiner(StateLogFold(on_corrupt="skip"), delivery_limit, place)
    found = [problem for record in records for problem in examiner.examine(record)]
    return [*found, *examiner.orphans()]


def a_sound_history(format_version: int = STATE_FORMAT_VERSION) -> History:
    """The start offset is 5, 10 to 14 are acknowledged, 20 to 24 were released twice."""
    history = History()
    history.claim(format_version)
    history.snapshot(KEY)
    history.update(KEY, [PREFIX], 0)
    history.update(KEY, [DONE], 5)
    history.update(KEY, [RELEASED], 5)
    return history


def an_update(
    *batches: StateBatch,
    start_offset: int = 5,
    leader_epoch: int = 0,
    snapshot_epoch: int = 1,
    complete_count: int = 10,
    claim_epoch: int = 0,
    key: SharePartitionKey = KEY,
    actor: Actor = ALICE,
) -> Record:
    epochs = SnapshotEpoch(snapshot_epoch), LeaderEpoch(leader_epoch)
    update = ShareUpdate(key, *epochs, start_offset, complete_count, batches)
    return encode_state_record(update, claim_epoch=claim_epoch, actors=(actor,))


def a_snapshot(
    *batches: StateBatch,
    snapshot_epoch: int = 2,
    state_epoch: int = 1,
    start_offset: int = 5,
    complete_count: int = 5,
    actor: Actor = ALICE,
) -> Record:
    epochs = (SnapshotEpoch(snapshot_epoch), StateEpoch(state_epoch), LeaderEpoch(0))
    snapshot = ShareSnapshot(KEY, *epochs, start_offset, 1, 1, complete_count, batches)
    return encode_state_record(snapshot, claim_epoch=0, actors=(actor,))


def available(first: int, last: int, count: int) -> StateBatch:
    return StateBatch(first, last, RecordState.AVAILABLE, count)


def acknowledged(first: int, last: int, count: int = 1) -> StateBatch:
    return StateBatch(first, last, RecordState.ACKNOWLEDGED, count)


NEXT: Final = acknowledged(30, 34)
"""What may follow."""

CORRUPTIONS: Final[dict[str, tuple[Record, str]]] = {
    "a record of no kind": (Record(b"\x00\x09", b"?"), "unknown record type 9"),
    "a value of no kind": (replace(an_update(NEXT), value=b"\x00\x00\x07"), "ShareUpdateValue"),
    "an actor of no kind": (
        replace(an_update(NEXT), headers=(claim_header(0), (ACTOR_HEADER, b"nobody"))),
        "names no actor",
    ),
    "no claim": (replace(an_update(NEXT), headers=()), "nobody who claimed"),
    "a claim of no kind": (replace(an_update(NEXT), headers=((CLAIM_HEADER, b"0"),)), "claim headers"),
    "a claim that is still to come": (an_update(NEXT, claim_epoch=9), "no offset before the record"),
    "a claim that nobody made": (an_update(NEXT, claim_epoch=4), "the record at that offset is no claim"),
    "a claim that nobody made, long ago": (an_update(NEXT, claim_epoch=2), "at that offset is no claim"),
    "a claim of a newer format": (
        encode_state_record(Claim("kproxy", 9), claim_epoch=None, actors=()),
        "reads up to 2",
    ),
    "the snapshot epoch anew": (a_snapshot(DONE, RELEASED, snapshot_epoch=1), "regressing snapshot epoch"),
    "a lower state epoch": (a_snapshot(DONE, RELEASED, state_epoch=0), "regressing state epoch"),
    "a lower start offset in a snapshot": (a_snapshot(DONE, start_offset=4), "start offset 4 after 5"),
    "the same state epoch begun anew": (
        a_snapshot(start_offset=0, complete_count=0, actor=Actor(Cause.INITIALIZE)),
        "start offset 0 after 5 in the same state epoch",
    ),
    "a lower start offset in an update": (an_update(start_offset=4), "start offset 4 after 5"),
    "an update to another snapshot": (an_update(NEXT, snapshot_epoch=7), "an update to snapshot 7"),
    "a snapshot that forgets": (a_snapshot(DONE), "has forgotten state batches from offset 5 on"),
    "a snapshot with fewer deliveries": (a_snapshot(DONE, available(20, 24, 1)), "has forgotten"),
    "too many deliveries": (
        an_update(StateBatch(30, 34, RecordState.ARCHIVED, 6)),
        "30-34 delivered 6 times, more than 5",
    ),
    "done without a delivery": (an_update(acknowledged(30, 34, 0)), "30-34 is ACKNOWLEDGED, and was never"),
    "two states at once": (
        an_update(available(30, 34, 1), available(34, 36, 1), complete_count=5),
        "overlapping state batches 30-34 and 34-36",
    ),
    "a batch below the start offset": (an_update(available(1, 3, 3)), "1-3 begins below the start offset 5"),
    "a start offset far ahead": (an_update(NEXT, start_offset=10**9), "begins below the start offset 10000"),
    "a batch below a start offset that is not named": (
        an_update(available(1, 3, 3), start_offset=-1, complete_count=-1),
        "1-3 begins below the start offset 5",
    ),
    "a record that was done with": (an_update(available(12, 12, 2)), "12-12 is AVAILABLE, and 10-14 was"),
    "the same acknowledgement again": (an_update(DONE), "10-14 is ACKNOWLEDGED, and 10-14 was ACKNOWLEDGED"),
    "fewer deliveries": (an_update(available(20, 21, 1)), "20-21 delivered 1 time, and 20-24 was 2 times"),
    "the same release again": (an_update(RELEASED), "20-24 delivered 2 times, and 20-24 was 2 times already"),
    "a count that falls": (an_update(complete_count=4), "delivery-complete count 4 after 5"),
    "a count below what is done": (
        an_update(acknowledged(15, 19), start_offset=10, complete_count=9),
        "delivery-complete count 9 from offset 10 on, with 10 records done with",
    ),
}
"""What may be wrong with one record, behind `a_sound_history`."""


def after_a_sound_history(*bad: Record) -> list[Record]:
    records = a_sound_history().records
    return [
        *records,
        *(replace(record, offset=offset, timestamp_ms=1) for offset, record in enumerate(bad, len(records))),
    ]


@pytest.mark.parametrize(("planted", "detail"), CORRUPTIONS.values(), ids=CORRUPTIONS)
def test_a_planted_corruption_is_found(planted: Record, detail: str) -> None:
    # When
    problems = problems_in(after_a_sound_history(planted))

    # Then
    violations = [problem for problem in problems if problem.what == VIOLATION]
    assert [problem.offset for problem in violations] == [5]
    assert detail in violations[0].detail


@pytest.mark.parametrize(
    ("planted", "detail"),
    [
        (
            an_update(start_offset=10**9, complete_count=0),
            "passes 999999990 offsets, by start offset 1000000000",
        ),
        (an_update(NEXT, complete_count=999), "delivery-complete count 999, 969 more than there are offsets"),
    ],
)
def test_what_a_topic_without_records_explains_is_noticed_once(planted: Record, detail: str) -> None:
    # When
    problems = problems_in(after_a_sound_history(planted))

    # Then
    assert [(problem.what, problem.offset) for problem in problems] == [(NOTICE, 5)]
    assert detail in problems[0].detail


@pytest.mark.parametrize(
    "sound",
    [
        an_update(NEXT),
        an_update(available(22, 24, 3), complete_count=5),
        an_update(start_offset=300, complete_count=0, actor=Actor(Cause.LOG_START_MOVED)),
        an_update(actor=Actor(Cause.LOAD), complete_count=5, leader_epoch=1),
        an_update(NEXT, start_offset=10, complete_count=10, actor=replace(ALICE, offset_ranges=((5, 9),))),
        a_snapshot(DONE, RELEASED, NEXT, complete_count=10),
        a_snapshot(start_offset=0, complete_count=0, actor=Actor(Cause.OPERATOR)),
        a_snapshot(state_epoch=2, start_offset=0, complete_count=0, actor=Actor(Cause.INITIALIZE)),
        an_update(available(1, 3, 0), DONE, start_offset=-1, complete_count=5, actor=Actor(Cause.OPERATOR)),
    ],
)
def test_what_kproxy_may_write_is_no_problem(sound: Record) -> None:
    # When
    problems = problems_in(after_a_sound_history(sound))

    # Then
    assert problems == []


def test_a_claim_that_nobody_made_is_told_once_although_it_makes_all_later_writes_void() -> None:
    # Given
    later = [an_update(acknowledged(offset, offset)) for offset in (40, 41)]

    # When
    problems = problems_in(after_a_sound_history(an_update(NEXT, claim_epoch=4), *later))

    # Then
    assert [(problem.what, problem.offset) for problem in problems] == [
        (VIOLATION, 5),
        (NOTICE, 6),
        (NOTICE, 7),
    ]


def test_a_claim_before_the_first_record_is_nobodys_fault() -> None:
    # Given
    history = a_sound_history()

    # When
    problems = problems_in(history.records[1:])

    # Then
    assert problems == []


def test_a_claim_that_cannot_be_decoded_is_one_violation_and_not_one_for_each_write_under_it() -> None:
    # Given
    records = a_sound_history().records
    bad = replace(records[0], value=b"\x00\x00\x07")

    # When
    problems = problems_in([bad, *records[1:]])

    # Then
    assert [(problem.what, problem.offset) for problem in problems] == [(VIOLATION, 0)]


def test_records_that_are_missing_are_noticed() -> None:
    # Given
    records = a_sound_history().records

    # When
    problems = problems_in([*records[:3], records[4]])

    # Then
    assert (problems[0].what, problems[0].offset, problems[0].key) == (NOTICE, 4, None)
    assert problems[0].detail == "offsets 3-3 before it are missing"


def test_a_claim_among_missing_records_is_nobodys_fault() -> None:
    # Given
    history = a_sound_history()
    history.claim()
    history.update(KEY, [NEXT], 5)
    del history.records[5]

    # When
    problems = problems_in(history.records)

    # Then
    assert [(problem.what, problem.offset) for problem in problems] == [(NOTICE, 6)]


COUNT: Final = 16
OF_GROUP: Final = group_partition(KEY.group_id, COUNT)
SPREAD: Final = spread_partition(KEY, COUNT)
NOWHERE: Final = next(number for number in range(COUNT) if number not in {OF_GROUP, SPREAD})


@pytest.mark.parametrize(
    ("format_version", "right", "wrong"),
    [(2, OF_GROUP, SPREAD), (2, OF_GROUP, NOWHERE), (1, SPREAD, OF_GROUP), (1, SPREAD, NOWHERE)],
)
def test_a_share_partition_in_the_wrong_log_partition_is_told_once_by_the_format_of_the_claim(
    format_version: int, right: int, wrong: int
) -> None:
    # Given
    records = a_sound_history(format_version).records

    # When
    misplaced, placed = (problems_in(records, place=LogPlace(place, COUNT)) for place in (wrong, right))

    # Then
    assert [(problem.what, problem.offset, problem.key) for problem in misplaced] == [(VIOLATION, 1, KEY)]
    assert misplaced[0].detail == f"belongs to log partition {right} of {COUNT}"
    assert placed == []


@pytest.mark.parametrize(("place", "is_told"), [(OF_GROUP, False), (SPREAD, False), (NOWHERE, True)])
def test_where_the_claim_was_deleted_a_share_partition_is_in_its_place_in_either_format(
    place: int,
    is_told: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    # Given
    records = a_sound_history().records[1:]

    # When
    problems = problems_in(records, place=LogPlace(place, COUNT))

    # Then
    assert [problem.detail for problem in problems] == (
        [f"belongs to log partition {OF_GROUP} of {COUNT}"] if is_told else []
    )


def test_a_leader_epoch_that_regresses_is_found() -> None:
    # When
    problems = problems_in(after_a_sound_history(an_update(NEXT, leader_epoch=4), an_update(leader_epoch=3)))

    # Then
    assert [(problem.what, problem.offset) for problem in problems] == [(VIOLATION, 6)]


def test_a_lost_snapshot_is_found() -> None:
    # Given
    history = a_sound_history()

    # When
    problems = problems_in([history.records[0], *history.records[2:]])

    # Then
    assert [(problem.what, problem.key) for problem in problems] == [(NOTICE, None), (VIOLATION, KEY)]


def test_a_late_write_of_a_superseded_owner_is_noticed_and_no_violation() -> None:
    # Given
    history = a_sound_history()
    history.claim()
    history.late_update(KEY, [DONE], 0)

    # When
    problems = problems_in(history.records)

    # Then
    assert [(problem.what, problem.offset) for problem in problems] == [(NOTICE, 6)]


def test_a_state_epoch_anew_may_begin_lower() -> None:
    # Given
    history = a_sound_history()
    history.snapshot(KEY, is_new=True)

    # When
    problems = problems_in(history.records)

    # Then
    assert problems == []


def test_what_was_imported_need_not_be_as_kproxy_writes() -> None:
    # Given
    history = History()
    history.snapshot(KEY)
    history.update(KEY, [DONE, RELEASED], 5)
    history.update(KEY, [DONE, RELEASED], 0)

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


@given(steps=STEPS, data=st.data())
def test_of_a_consumption_nothing_but_late_writes_is_worth_a_notice(
    steps: Sequence[Step], data: st.DataObject
) -> None:
    # Given
    records = consumption_of(3, steps).records
    # Begin behind any snapshot that recovery needs: from there on, every share-partition has its snapshot.
    first = data.draw(st.sampled_from([0, 1, 2]))

    # When
    problems = problems_in(records[first:])

    # Then
    assert {problem.detail for problem in problems} <= {"written under claim 0, when 1 was in force"}
