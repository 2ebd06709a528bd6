"""What the state log says is finished, read from Kafka itself with `kproxy log dump`, whatever kproxy believes."""

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from tests.demo.failures import DemoFailed
from tests.demo.kproxy_process import clean_environment
from tests.demo.ledger import RecordId
from tests.real_kafka.paths import PROJECT_ROOT

DUMP_TIMEOUT_SECONDS: Final = 60.0
SHARE_KEY_TYPES: Final = frozenset({0, 1})
"""ShareSnapshot and ShareUpdate."""
CLAIM_KEY_TYPE: Final = 27504
FINISHED_STATES: Final = frozenset({2, 4})
"""Acknowledged and archived (KIP-932, "In-flight records"): a record never leaves them."""


def dump(backing_bootstrap_servers: str) -> list[str]:
    """Every record of the state topic, a JSON object each. Raises `DemoFailed`."""
    command = [sys.executable, "-m", "kproxy", "log", "dump", "-b", backing_bootstrap_servers]
    try:
        done = subprocess.run(
            command,
            cwd=PROJECT_ROOT,
            env=clean_environment(),
            capture_output=True,
            text=True,
            timeout=DUMP_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DemoFailed(f"kproxy log dump did not end in {DUMP_TIMEOUT_SECONDS:.0f} s") from error
    if done.returncode != 0:
        raise DemoFailed(f"kproxy log dump ended with status {done.returncode}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def finished_records(lines: Iterable[str], group: str) -> set[RecordId]:
    """The records that are finished for a group that reads one topic: below a start offset, or said to be so.

    `lines` are those of `dump`: in each partition of the log the oldest first. What a dead owner's batch says
    that landed behind the claim of the next one does not count.
    """
    finished: set[RecordId] = set()
    start_offsets: dict[int, int] = {}
    for partition, value in _states(lines, group):
        start_offset = start_offsets.get(partition, 0)
        start_offsets[partition] = max(start_offset, value["startOffset"])
        finished |= {RecordId(partition, offset) for offset in range(start_offset, start_offsets[partition])}
        for batch in value["stateBatches"]:
            if batch["deliveryState"] in FINISHED_STATES:
                offsets = range(batch["firstOffset"], batch["lastOffset"] + 1)
                finished |= {RecordId(partition, offset) for offset in offsets}
    return finished


def _states(lines: Iterable[str], group: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    claims: dict[int, int] = {}
    for line in lines:
        record = json.loads(line)
        key, slot = record["key"], record["partition"]
        if key["type"] == CLAIM_KEY_TYPE:
            claims[slot] = record["offset"]
        is_in_force = key["type"] in SHARE_KEY_TYPES and record["claimEpoch"] == claims.get(slot)
        if is_in_force and key["data"]["groupId"] == group and record["value"] is not None:
            yield key["data"]["partition"], record["value"]["data"]
