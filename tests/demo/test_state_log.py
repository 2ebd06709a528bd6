import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.demo.ledger import RecordId
from tests.demo.state_log import finished_records


def a_claim(*, slot: int, offset: int) -> str:
    return json.dumps(
        {
            "partition": slot,
            "offset": offset,
            "claimEpoch": None,
            "key": {"type": 27504, "data": {}},
            "value": {"version": 0, "data": {"owner": "kproxy"}},
        }
    )


def a_state(
    *,
    slot: int,
    claim: int,
    start_offset: int = -1,
    batches: Sequence[tuple[int, int, int]] = (),
    partition: int = 0,
    group: str = "workers",
) -> str:
    """A ShareUpdate; `batches` are first offset, last offset and delivery state."""
    value: Mapping[str, Any] = {
        "startOffset": start_offset,
        "stateBatches": [
            {"firstOffset": first, "lastOffset": last, "deliveryState": state, "deliveryCount": 1}
            for first, last, state in batches
        ],
    }
    key = {"type": 1, "data": {"groupId": group, "topicId": "AAAAAAAAAAAAAAAAAAAAAA", "partition": partition}}
    return json.dumps(
        {
            "partition": slot,
            "offset": 9,
            "claimEpoch": claim,
            "key": key,
            "value": {"version": 0, "data": value},
        }
    )


def test_what_is_below_the_start_offset_and_what_is_acknowledged_or_archived_is_finished() -> None:
    # Given
    lines = [
        a_claim(slot=9, offset=0),
        a_state(slot=9, claim=0),
        a_state(slot=9, claim=0, start_offset=2, batches=[(3, 4, 2), (5, 5, 0), (6, 6, 4)]),
    ]

    # When
    finished = finished_records(lines, "workers")

    # Then
    assert sorted(finished) == [RecordId(0, offset) for offset in (0, 1, 3, 4, 6)]


def test_a_batch_of_a_dead_owner_behind_the_next_claim_does_not_count() -> None:
    # Given
    lines = [
        a_claim(slot=9, offset=0),
        a_state(slot=9, claim=0, start_offset=1),
        a_claim(slot=9, offset=7),
        a_state(slot=9, claim=0, start_offset=5),
        a_state(slot=9, claim=7, start_offset=2, partition=1),
    ]

    # When
    finished = finished_records(lines, "workers")

    # Then
    assert sorted(finished) == [RecordId(0, 0), RecordId(1, 0), RecordId(1, 1)]


def test_other_groups_and_tombstones_are_passed_over() -> None:
    # Given
    tombstone = json.loads(a_state(slot=9, claim=0)) | {"value": None}
    lines = [
        a_claim(slot=9, offset=0),
        a_state(slot=9, claim=0, start_offset=5, group="others"),
        json.dumps(tombstone),
    ]

    # When
    finished = finished_records(lines, "workers")

    # Then
    assert finished == set()
