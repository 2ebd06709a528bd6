"""What the records of a state log say, one a line, for who looks for the reason of a failure."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from kproxy.statelog.state_log_fold import StateLogFold
from kproxy.statelog.state_records import decode_state_record
from tests.real_kafka.log_reading import PartitionLog
from tests.real_kafka.paths import kept_logs_folder


def keep_story(logs: Mapping[int, PartitionLog]) -> Path:
    """Write every record with what became of it to where failed runs are kept; the file."""
    kept_logs_folder().mkdir(parents=True, exist_ok=True)
    file = kept_logs_folder() / f"state-log-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}.txt"
    file.write_text("".join(line for slot, log in logs.items() for line in _lines(slot, log)))
    return file


def _lines(slot: int, log: PartitionLog) -> Iterator[str]:
    fold = StateLogFold()
    for record in log.records:
        outcome = fold.apply(record)
        decoded = decode_state_record(record)
        yield (
            f"slot {slot} offset {record.offset} at {record.timestamp_ms} {outcome.value} "
            f"claim {decoded.claim_epoch} {decoded.record}\n"
        )
