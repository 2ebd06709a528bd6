"""kproxy is back in a time that depends on what is live, not on how long the state log is."""

import asyncio
import json
import time
from dataclasses import dataclass
from typing import Final

import pytest

from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess, state_topic_settings
from tests.real_kafka.written_history import GROUPS, UPDATES_AFTER_A_SNAPSHOT, write_history

LIVE: Final = 1_000
SHORT_HISTORY: Final = 100_000
LONG_HISTORY: Final = 10_000_000
STARTS: Final = 3
SLACK_SECONDS: Final = 0.5
"""What a busy machine adds to the start of a process now and then."""
READY_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class Recovery:
    """How long a start took."""

    ready_seconds: float
    """From the start of the process to `/readyz`."""
    replay_seconds: float
    """Spent on reading slots, over all of them."""
    records: int
    """Log records that were read."""


@pytest.mark.soak
def test_recovery_takes_no_longer_behind_a_history(reference_cluster: KafkaCluster) -> None:
    _compare(reference_cluster, SHORT_HISTORY)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_recovery_takes_no_longer_behind_ten_million_records_of_history(
    reference_cluster: KafkaCluster,
) -> None:
    _compare(reference_cluster, LONG_HISTORY)


def _compare(cluster: KafkaCluster, records: int) -> None:
    # Given
    without, behind = state_topic_settings(), state_topic_settings()
    for settings, history in ((without, 0), (behind, records)):
        _start(cluster, settings)
        asyncio.run(
            write_history(
                cluster,
                str(settings["kproxy.state.topic.name"]),
                str(settings["kproxy.groups.topic.name"]),
                records=history,
                keys=LIVE,
            )
        )

    # When
    pairs = [(_start(cluster, without), _start(cluster, behind)) for _ in range(STARTS)]

    # Then
    shortest_without = min(pair[0].ready_seconds for pair in pairs)
    shortest_behind = min(pair[1].ready_seconds for pair in pairs)
    print(
        json.dumps(
            {
                "records of history": records,
                "live share-partitions": LIVE,
                "ready without the history, seconds": [round(pair[0].ready_seconds, 2) for pair in pairs],
                "ready behind the history, seconds": [round(pair[1].ready_seconds, 2) for pair in pairs],
                "replay without the history, seconds": [round(pair[0].replay_seconds, 2) for pair in pairs],
                "replay behind the history, seconds": [round(pair[1].replay_seconds, 2) for pair in pairs],
                "records read": [pair[1].records for pair in pairs],
            },
            indent=2,
        )
    )
    assert shortest_behind <= 2 * shortest_without + SLACK_SECONDS
    assert all(behind.records < LIVE * (UPDATES_AFTER_A_SNAPSHOT + 2) + 200 for _, behind in pairs)


def _start(cluster: KafkaCluster, settings: dict[str, str | int]) -> Recovery:
    """Start a kproxy, see whether it has every share-partition there is, and stop it."""
    began = time.monotonic()
    with KproxyProcess(cluster.bootstrap_servers, settings=settings) as kproxy:
        kproxy.wait_until_ready(timeout_seconds=READY_SECONDS)
        ready_seconds = time.monotonic() - began
        metrics = kproxy.metrics()
        items = [item for slot in range(4) for item in kproxy.state_items(slot)]
        assert len(items) in {0, LIVE}
        assert {item["groupId"] for item in items} <= set(GROUPS)
        assert {item["startOffset"] for item in items} <= {10 * (UPDATES_AFTER_A_SNAPSHOT - 1)}
        kproxy.drain()
        return Recovery(
            ready_seconds,
            metrics.total("kproxy_statelog_replay_seconds_sum"),
            int(metrics.total("kproxy_statelog_replayed_records_total")),
        )
