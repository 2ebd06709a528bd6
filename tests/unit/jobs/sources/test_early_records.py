"""The KIP's worked example in both of its earlier record forms, and what the forms prove about themselves.

Where the pages contradict themselves, Kafka's own records decide (tests/unit/statelog/data/kip_worked_example.json):

| page | prints | taken as |
|---|---|---|
| control records, first checkpoint | StartOffset 110 beside SPSO=100 | 100; 110 ends the same |
| control records, after "Release 110" | "the SPEO in the control records is 111" | deltas name no end offset: nothing |
| WriteShareGroupState, "Acknowledge 110" | StartOffset -1 beside SPSO=111 | as printed: 110 stays, done with |
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import CorruptStateRecord
from kproxy.jobs.sources.early_records import EarlyForm, translated
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.state_log_fold import Outcome, StateLogFold
from kproxy.statelog.state_records import decode_state_record

DATA: Final = Path(__file__).parent / "data"
FORMS: Final[Sequence[EarlyForm]] = ("kip-control", "kip-checkpoint")

AVAILABLE, ACKNOWLEDGED = RecordState.AVAILABLE, RecordState.ACKNOWLEDGED
RELEASED_110: Final = StateBatch(110, 110, AVAILABLE, 1)
ACKNOWLEDGED_119: Final = StateBatch(119, 119, ACKNOWLEDGED, 1)
ACKNOWLEDGED_113: Final = StateBatch(113, 119, ACKNOWLEDGED, 1)

# What the column "cumulative state" says after each record that the page prints, but for what is only in memory.
CUMULATIVE_STATES: Final = (
    (100, ()),
    (110, ()),
    (110, (RELEASED_110,)),
    (110, (RELEASED_110, StateBatch(111, 118, AVAILABLE, 0), ACKNOWLEDGED_119)),
    (110, (StateBatch(110, 112, AVAILABLE, 1), StateBatch(113, 118, AVAILABLE, 0), ACKNOWLEDGED_119)),
    (110, (StateBatch(110, 112, AVAILABLE, 1), ACKNOWLEDGED_113)),
)
AFTER_110: Final = {
    "kip-control": (111, (StateBatch(111, 112, AVAILABLE, 1), ACKNOWLEDGED_113)),
    "kip-checkpoint": (
        110,
        (StateBatch(110, 110, ACKNOWLEDGED, 2), StateBatch(111, 112, AVAILABLE, 1), ACKNOWLEDGED_113),
    ),
}
IN_THE_END: Final = (120, ())


def lines_of(form: str) -> list[str]:
    return (DATA / f"{form.replace('-', '_')}.jsonl").read_text().splitlines()


def states_after_each(lines: Iterable[str], form: EarlyForm) -> list[DurableShareState]:
    fold = StateLogFold()
    states = []
    for record in translated(lines, form):
        assert fold.apply(record) is Outcome.APPLIED
        (state,) = fold.states.values()
        states.append(state)
    return states


def with_index(delta: Mapping[str, Any], index: int) -> Mapping[str, Any]:
    return {**delta, "Key": delta["Key"] | {"DeltaIndex": index}}


def changed(line: str, **fields: Any) -> str:
    return json.dumps(json.loads(line) | fields)


@pytest.mark.parametrize("form", FORMS)
def test_the_worked_example_gives_the_cumulative_states_of_its_page(form: EarlyForm) -> None:
    # When
    states = states_after_each(lines_of(form), form)

    # Then
    found = [(state.start_offset, state.state_batches) for state in states]
    assert found == [*CUMULATIVE_STATES, AFTER_110[form], IN_THE_END]


def test_the_first_checkpoint_as_the_page_prints_it_ends_the_same() -> None:
    # Given
    lines = lines_of("kip-control")
    lines[0] = changed(lines[0], StartOffset=110, EndOffset=110)

    # When
    states = states_after_each(lines, "kip-control")

    # Then
    assert (states[-1].start_offset, states[-1].state_batches) == IN_THE_END


def test_the_checkpoint_that_may_take_the_place_of_the_last_delta_ends_the_same() -> None:
    # Given
    lines = lines_of("kip-control")
    lines[-1] = '{"GroupId": "G1", "CheckpointEpoch": 2, "StartOffset": 120, "EndOffset": 120, "States": []}'

    # When
    states = states_after_each(lines, "kip-control")

    # Then
    assert (states[-1].start_offset, states[-1].state_batches, states[-1].snapshot_epoch) == (120, (), 2)


@pytest.mark.parametrize("form", FORMS)
def test_records_done_with_behind_the_start_offset_are_counted(form: EarlyForm) -> None:
    # When
    states = states_after_each(lines_of(form), form)

    # Then
    counts = [state.delivery_complete_count for state in states]
    assert counts == [0, 0, 0, 1, 1, 7, {"kip-control": 7, "kip-checkpoint": 8}[form], 0]


def test_fields_may_stand_in_one_object_under_the_names_of_the_requests() -> None:
    # Given
    parts = [json.loads(line) for line in lines_of("kip-checkpoint")]
    flat = [part["Key"] | part["Value"] for part in parts]
    lines = [json.dumps(each | {"StateBatches": each.pop("States")}) for each in flat]

    # When
    states = states_after_each(lines, "kip-checkpoint")

    # Then
    assert states == states_after_each(lines_of("kip-checkpoint"), "kip-checkpoint")


def test_offsets_times_and_the_topic_come_from_the_line_where_it_has_them() -> None:
    # Given
    line = changed(lines_of("kip-control")[0], Timestamp=1_500, TopicId="AAAAAAAAAAAAAAAAAAAAAQ", Partition=3)

    # When
    (record,) = translated([line], "kip-control")

    # Then
    snapshot = decode_state_record(record).record
    assert (record.offset, record.timestamp_ms) == (130, 1_500)
    assert str(getattr(snapshot, "key", None)) == "G1:AAAAAAAAAAAAAAAAAAAAAQ:3"


@pytest.mark.parametrize("missing", range(1, 7))
@pytest.mark.parametrize("form", FORMS)
def test_a_missing_delta_is_noticed_at_the_next(form: EarlyForm, missing: int) -> None:
    # Given
    lines = lines_of(form)
    del lines[missing]

    # When
    with pytest.raises(CorruptStateRecord) as caught:
        list(translated(lines, form))

    # Then
    assert {"kip-control": "BackOffset", "kip-checkpoint": "DeltaIndex"}[form] in caught.value.reason


def test_the_index_of_a_delta_is_a_byte_that_runs_over() -> None:
    # Given
    checkpoint, delta = lines_of("kip-checkpoint")[0], json.loads(lines_of("kip-checkpoint")[2])
    deltas = [json.dumps(with_index(delta, number % 256)) for number in range(300)]

    # When
    records = list(translated([checkpoint, *deltas], "kip-checkpoint"))

    # Then
    assert len(records) == 301


def test_deltas_count_from_0_again_after_a_checkpoint() -> None:
    # Given
    checkpoint, delta = lines_of("kip-checkpoint")[:2]

    # When
    records = list(translated([checkpoint, delta, checkpoint, delta], "kip-checkpoint"))

    # Then
    assert len(records) == 4


def test_deltas_that_compaction_left_of_an_older_checkpoint_change_nothing() -> None:
    # Given
    delta = lines_of("kip-checkpoint")[2]
    newer = json.loads(lines_of("kip-checkpoint")[0])
    newer["Value"] |= {"CheckpointEpoch": 2, "StartOffset": 120}
    fold = StateLogFold()

    # When
    outcomes = [fold.apply(record) for record in translated([delta, json.dumps(newer)], "kip-checkpoint")]

    # Then
    (state,) = fold.states.values()
    assert outcomes == [Outcome.IGNORED_NO_SNAPSHOT, Outcome.APPLIED]
    assert (state.start_offset, state.state_batches) == (120, ())


def test_a_key_without_a_value_ends_the_share_partition() -> None:
    # Given
    first = lines_of("kip-checkpoint")[0]
    tombstone = json.dumps({"Key": json.loads(first)["Key"], "Value": None})
    fold = StateLogFold()

    # When
    for record in translated([first, tombstone], "kip-checkpoint"):
        fold.apply(record)

    # Then
    assert not fold.states


def test_a_deletion_marker_ends_the_share_partition() -> None:
    """KIP-932: "a final ShareSnapshot record with the special snapshot epoch value of -1"."""
    # Given
    first = lines_of("kip-checkpoint")[0]
    fields = json.loads(first)
    fields["Value"]["CheckpointEpoch"] = -1
    fold = StateLogFold()

    # When
    for record in translated([first, json.dumps(fields)], "kip-checkpoint"):
        fold.apply(record)

    # Then
    assert not fold.states


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "JSONDecodeError"),
        ("[]", "TypeError"),
        ('{"CheckpointEpoch": 1}', "GroupId"),
        ('{"GroupId": "G1", "CheckpointEpoch": 1, "States": []}', "StartOffset"),
        ('{"GroupId": "G1", "CheckpointEpoch": 1, "StartOffset": 0}', "StateBatches"),
        ('{"GroupId": "G1", "TopicId": "?", "CheckpointEpoch": 1, "StartOffset": 0, "States": []}', "Error"),
    ],
)
def test_a_line_that_is_no_such_record_is_refused_with_its_reason(line: str, reason: str) -> None:
    # When
    with pytest.raises(CorruptStateRecord) as caught:
        list(translated([line], "kip-control"))

    # Then
    assert reason in caught.value.reason


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"Offset": 130}, "not above the offset before it, 130"),
        ({"StateEpoch": 4}, "StateEpoch is 4"),
        (
            {"States": [{"BaseOffset": 5, "LastOffset": 5, "State": 1, "DeliveryCount": 1}]},
            "state 1 of 5-5",
        ),
        ({"States": [{"BaseOffset": 5, "LastOffset": 4, "State": 2, "DeliveryCount": 1}]}, "5-4"),
        (
            {"States": [{"BaseOffset": 5, "LastOffset": 5, "State": 3, "DeliveryCount": 1}]},
            "state 3 of 5-5",
        ),
        ({"States": [{"BaseOffset": 5, "LastOffset": 5, "State": 9, "DeliveryCount": 1}]}, "9"),
    ],
)
def test_a_delta_that_cannot_follow_is_refused(fields: Mapping[str, Any], reason: str) -> None:
    # Given
    lines = lines_of("kip-control")[:2]
    lines[1] = changed(lines[1], **fields)

    # When
    with pytest.raises(CorruptStateRecord) as caught:
        list(translated(lines, "kip-control"))

    # Then
    assert reason in caught.value.reason


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 8), st.sampled_from((0, 2, 4)), st.integers(1, 5)),
        max_size=25,
    )
)
def test_the_start_offset_of_control_records_stands_at_the_first_record_not_done_with(
    writes: Sequence[tuple[int, int, int, int]],
) -> None:
    # Given
    lines = [json.dumps({"GroupId": "G1", "CheckpointEpoch": 1, "StartOffset": 0, "States": []})]
    for offset, (first, more, state, count) in enumerate(writes):
        batch = {"BaseOffset": first, "LastOffset": first + more, "State": state, "DeliveryCount": count}
        delta = {"GroupId": "G1", "CheckpointEpoch": 1, "BackOffset": offset, "States": [batch]}
        lines.append(json.dumps(delta))

    # When
    states = states_after_each(lines, "kip-control")

    # Then
    assert states[-1].start_offset == first_open_offset_after(writes)


def first_open_offset_after(writes: Sequence[tuple[int, int, int, int]]) -> int:
    """The plain rule, offset by offset. What was passed once is passed for good, whatever a late write says of it."""
    start, known = 0, dict[int, tuple[int, int]]()
    for first, more, state, count in writes:
        for offset in range(first, first + more + 1):
            known[offset] = max(known.get(offset, (0, 0)), (count, state))
        while known.get(start, (0, 0))[1]:
            start += 1
    return start
