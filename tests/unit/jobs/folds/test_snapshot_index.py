from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.jobs.folds.snapshot_index import default_place, index_batches
from kproxy.jobs.sources.raw_records import batch_of
from kproxy.share.identifiers import topic_id_text
from kproxy.statelog.claims import Claim
from kproxy.statelog.state_log_fold import StateLogFold
from kproxy.wire.records import Record
from tests.worlds.histories import KEYS, History, histories


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


def lost_in(entries: Sequence[dict[str, Any]]) -> dict[tuple[str, str, int], int]:
    """Return where the first update stands of each share-partition that has no snapshot."""
    lost: dict[tuple[str, str, int], int] = {}
    for entry in entries:
        key = (entry["group_id"], entry["topic_id"], entry["partition"])
        if entry["kind"] == "forgotten":
            lost.clear()
        elif entry["kind"] == "orphan":
            lost[key] = entry["log_offset"]
        else:
            lost.pop(key, None)
    return lost


@given(history=histories(), data=st.data())
def test_the_index_of_a_log_without_its_beginning_has_what_a_fold_of_it_lacks(
    history: History, data: st.DataObject
) -> None:
    # Given
    first = data.draw(st.integers(0, len(history.records) - 1))
    end = data.draw(st.integers(first + 1, len(history.records)))
    records = history.records[first:end]
    fold = StateLogFold()
    for record in records:
        fold.apply(record)

    # When
    lost = lost_in(entries_of(records))

    # Then
    orphans = fold.image().orphans
    assert lost == {
        (key.group_id, topic_id_text(key.topic_id), key.partition): offset for key, offset in orphans.items()
    }


def test_what_a_superseded_owner_left_behind_is_not_lost() -> None:
    # Given
    history = History()
    history.claim()
    history.snapshot(KEYS[0])
    history.claim()
    history.late_update(KEYS[0], (), claim_epoch=0)
    history.snapshot(KEYS[1])

    # When
    entries = entries_of(history.records[3:])

    # Then
    assert [entry["kind"] for entry in entries] == ["orphan", "forgotten", "snapshot"]
    assert lost_in(entries) == {}


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
