from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.jobs.raw_records import batch_of
from kproxy.jobs.snapshot_index import default_place, index_batches
from kproxy.statelog.claims import Claim
from kproxy.statelog.fold import StateLogFold
from kproxy.wire.records import Record
from tests.spark.histories import History, histories


def entries_of(records: Sequence[Record], *, since: int = 0) -> list[dict[str, Any]]:
    batches = index_batches(iter([batch_of(0, records)]), claims={}, since={0: since}, on_corrupt="stop")
    return [entry for batch in batches for entry in batch.to_pylist()]


def newest_snapshots(entries: Sequence[dict[str, Any]]) -> dict[tuple[str, str, int], int]:
    newest: dict[tuple[str, str, int], int] = {}
    for entry in entries:
        key = (entry["group_id"], entry["topic_id"], entry["partition"])
        if entry["kind"] == "snapshot":
            newest[key] = entry["log_offset"]
        elif entry["kind"] == "tombstone":
            newest.pop(key, None)
    return newest


@given(history=histories())
def test_the_index_has_the_snapshots_that_counted(history: History) -> None:
    # When
    newest = newest_snapshots(entries_of(history.records))

    # Then
    assert sorted(newest.values()) == sorted(history.snapshot_offsets.values())


@given(history=histories(), data=st.data())
def test_a_fold_that_begins_where_the_index_says_arrives_at_the_same_state(
    history: History, data: st.DataObject
) -> None:
    # Given
    moment = data.draw(st.integers(1, len(history.records)))
    records = history.records[:moment]
    entries = entries_of(records)
    start = min(newest_snapshots(entries).values(), default=0)
    claims = [
        entry["log_offset"] for entry in entries if entry["kind"] == "claim" and entry["log_offset"] < start
    ]
    whole = StateLogFold()
    for record in records:
        whole.apply(record)

    # When
    short = StateLogFold()
    if claims:
        short.replay(Claim("", 0), claim_epoch=None, offset=max(claims), timestamp_ms=0)
    for record in records[start:]:
        short.apply(record)

    # Then
    assert short.states == whole.states


@given(history=histories())
def test_entries_that_are_indexed_already_are_not_made_again(history: History) -> None:
    # Given
    all_entries = entries_of(history.records)
    since = len(history.records) // 2

    # When
    entries = entries_of(history.records, since=since)

    # Then
    assert entries == [entry for entry in all_entries if entry["log_offset"] >= since]


def test_each_log_has_an_index_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # Given
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    # When
    places = {default_place("one"), default_place("other"), default_place("one")}

    # Then
    assert len(places) == 2
    assert all(Path(place).is_relative_to(tmp_path) for place in places)
