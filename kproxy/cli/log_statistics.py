"""What a log partition is made of: records by type, bytes, claims, the span of offsets and of time, live keys."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from kproxy.clients.dump_format import JsonObject
from kproxy.clients.log_lines import UNDECODABLE, LogLine, LogTopic
from kproxy.clients.tables import cell_text
from kproxy.notation import iso_time
from kproxy.wire.records import Record

TABLE_HEADER: Final = (
    *("PARTITION", "RECORDS", "BYTES", "CLAIMS", "KEYS", "FIRST-OFFSET", "LAST-OFFSET"),
    *("FIRST-TIMESTAMP", "LAST-TIMESTAMP", "TYPES"),
)

_TYPE_BYTES: Final = 2
"""Snapshots and updates have the same key behind the record type."""


@dataclass(slots=True)
class PartitionStatistics:
    """The records of one log partition counted together. Offsets and timestamps are None before the first record."""

    kind: LogTopic
    partition: int
    record_count: int = 0
    size_bytes: int = 0
    claim_count: int = 0
    first_offset: int | None = None
    last_offset: int | None = None
    first_timestamp_ms: int | None = None
    last_timestamp_ms: int | None = None
    by_type: Counter[str] = field(default_factory=Counter)
    _live_keys: set[bytes] = field(default_factory=set)

    def add(self, line: LogLine) -> None:
        """Count one record; they come in the order of their offsets."""
        record = line.record
        if self.first_offset is None:
            self.first_offset, self.first_timestamp_ms = record.offset, record.timestamp_ms
        self.last_offset, self.last_timestamp_ms = record.offset, record.timestamp_ms
        self.record_count += 1
        self.size_bytes += _size_bytes(record)
        self.claim_count += line.is_claim
        self.by_type[line.record_type] += 1
        self._count_key(line)

    @property
    def key_count(self) -> int:
        """Keys whose newest record is no deletion; claims are not counted."""
        return len(self._live_keys)

    @property
    def undecodable_count(self) -> int:
        """Records that replay would not take."""
        return self.by_type[UNDECODABLE]

    def _count_key(self, line: LogLine) -> None:
        if line.key is None or line.is_claim or line.record.key is None:
            return
        key = line.record.key[_TYPE_BYTES:] if self.kind is LogTopic.STATE else line.record.key
        if line.is_deletion:
            self._live_keys.discard(key)
        else:
            self._live_keys.add(key)


def json_of(statistics: PartitionStatistics) -> JsonObject:
    """Return all of it."""
    return {
        "partition": statistics.partition,
        "records": statistics.record_count,
        "bytes": statistics.size_bytes,
        "claims": statistics.claim_count,
        "keys": statistics.key_count,
        "firstOffset": statistics.first_offset,
        "lastOffset": statistics.last_offset,
        "firstTimestamp": statistics.first_timestamp_ms,
        "lastTimestamp": statistics.last_timestamp_ms,
        "recordsByType": _by_type(statistics),
    }


def row_of(statistics: PartitionStatistics) -> list[str]:
    """Return the cells under TABLE_HEADER."""
    cells = [
        statistics.partition,
        statistics.record_count,
        statistics.size_bytes,
        statistics.claim_count,
        statistics.key_count,
        statistics.first_offset,
        statistics.last_offset,
        _time(statistics.first_timestamp_ms),
        _time(statistics.last_timestamp_ms),
        ",".join(f"{name}={count}" for name, count in _by_type(statistics).items()),
    ]
    return [cell_text(cell) for cell in cells]


def _by_type(statistics: PartitionStatistics) -> dict[str, int]:
    return {name: count for name, count in sorted(statistics.by_type.items()) if count}


def _time(timestamp_ms: int | None) -> str | None:
    return None if timestamp_ms is None or timestamp_ms < 0 else iso_time(timestamp_ms)


def _size_bytes(record: Record) -> int:
    headers = sum(len(name.encode()) + len(value or b"") for name, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers
