"""Lines of `kproxy log dump` as rows."""

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from kproxy.clients.dump_format import record_of
from kproxy.clients.failures import WrongDumpLine
from kproxy.jobs.failures import as_job_failures, told_to_driver
from kproxy.jobs.sources.raw_records import RAW_ARROW_SCHEMA, batch_of
from kproxy.wire.messages.kproxy_claim_key import KproxyClaimKey
from kproxy.wire.messages.share_group_state_partition_metadata_key import ShareGroupStatePartitionMetadataKey
from kproxy.wire.messages.share_snapshot_key import ShareSnapshotKey
from kproxy.wire.messages.share_update_key import ShareUpdateKey
from kproxy.wire.records import Record

DUMP_ARROW_SCHEMA: Final = pa.schema([pa.field("topic", pa.string()), *RAW_ARROW_SCHEMA])
"""Rows of the log, and the topic that each came from."""

_REPLAYED_TYPES: Final = frozenset(
    key_class.SCHEMA.api_key or 0
    for key_class in (ShareSnapshotKey, ShareUpdateKey, KproxyClaimKey, ShareGroupStatePartitionMetadataKey)
)
"""What replay makes something of. Of the groups topic that is the record that names topics."""


def rows_of_lines(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn batches of lines into batches of DUMP_ARROW_SCHEMA, on an executor.

    Records of the groups topic that replay has no use for are left out.
    """
    with told_to_driver(), as_job_failures():
        for batch in batches:
            found = (record_of(line, _REPLAYED_TYPES) for line in _lines_in(batch))
            yield _rows([record for record in found if record is not None])


def _lines_in(batch: pa.RecordBatch) -> list[str]:
    """Return the lines that are not empty. Raises WrongDumpLine for bytes that are no text."""
    try:
        return [line for line in batch.column(0).to_pylist() if line.strip()]
    except UnicodeDecodeError as failure:
        raise WrongDumpLine(f"no UTF-8 at byte {failure.start}", repr(failure.object[:80])) from failure


def _rows(found: Sequence[tuple[str, int, Record]]) -> pa.RecordBatch:
    rows = batch_of(0, [record for _, _, record in found])
    topics = pa.array([topic for topic, _, _ in found], pa.string())
    partitions = pa.array([partition for _, partition, _ in found], pa.int32())
    return pa.RecordBatch.from_arrays([topics, partitions, *rows.columns[1:]], schema=DUMP_ARROW_SCHEMA)
