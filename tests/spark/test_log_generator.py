"""Generated logs are what the proxy itself would write."""

from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
import pytest

from kproxy.jobs.sources.raw_records import records_of
from kproxy.statelog.state_log_fold import Outcome, StateLogFold
from kproxy.statelog.state_records import ShareSnapshot, decode_state_record, encode_state_record
from tests.spark.log_generator import UPDATES_PER_SNAPSHOT, changes_of, records_of_partition, write_partition

SHARE_PARTITIONS: Final = 3
RECORDS: Final = SHARE_PARTITIONS * (2 * UPDATES_PER_SNAPSHOT + 10)


def test_every_record_has_the_bytes_of_the_proxy_s_own_encoder() -> None:
    # Given
    records = list(records_of_partition(5, RECORDS, SHARE_PARTITIONS))

    # When
    decoded = [decode_state_record(record) for record in records]
    again = [
        encode_state_record(each.record, claim_epoch=each.claim_epoch, actors=each.actors) for each in decoded
    ]

    # Then
    assert [
        replace(encoded, offset=record.offset, timestamp_ms=record.timestamp_ms)
        for encoded, record in zip(again, records, strict=True)
    ] == records


def test_a_snapshot_holds_the_state_that_the_updates_before_it_made() -> None:
    # Given
    fold = StateLogFold()

    # When
    for record in records_of_partition(0, RECORDS, SHARE_PARTITIONS):
        said = decode_state_record(record).record
        before = fold.states.get(said.key) if isinstance(said, ShareSnapshot) else None
        outcome = fold.apply(record)

        # Then
        assert outcome in {Outcome.APPLIED, Outcome.CLAIMED}
        if isinstance(said, ShareSnapshot) and before is not None:
            assert fold.states[said.key] == replace(before, snapshot_epoch=said.snapshot_epoch)
    # The last one does not get to its turn, since a claim stands before all.
    assert [place.updates_since for place in fold.places.values()] == [7, 7, 6]


@pytest.mark.parametrize("count", [1, 2, RECORDS])
def test_a_file_holds_the_records_in_order(tmp_path: Path, count: int) -> None:
    # When
    write_partition(tmp_path, 5, count, SHARE_PARTITIONS)

    # Then
    (file,) = tmp_path.iterdir()
    batches = pq.ParquetFile(file).iter_batches()
    assert [row for batch in batches for row in records_of(batch)] == [
        (5, record) for record in records_of_partition(5, count, SHARE_PARTITIONS)
    ]


def test_share_partitions_take_turns() -> None:
    # When
    keys = [key for key, _, _ in islice(changes_of(0, 4), 12)]

    # Then
    assert keys[4:8] == keys[8:12]
    assert len(set(keys[4:8])) == 4
