"""Share-partitions that stand still before records: found with the ends of the topics, and owned up to without."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kproxy.clients.log_ranges import Leaderless, PartitionEnd, TopicEnd
from kproxy.errors import ExitCode
from kproxy.jobs.analyses.stuck import run
from kproxy.jobs.analyses.waiting import NO_ACQUISITIONS, NO_ENDS
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.history.selection import Selection
from kproxy.jobs.history.silver import silver_rows
from kproxy.jobs.job import JobContext
from kproxy.jobs.sources.raw_records import batch_of
from kproxy.share.identifiers import topic_id_text
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from tests.in_memory.in_memory_log_reader import InMemoryLogReader
from tests.spark.replays import replay, summary_of
from tests.spark.silver_contexts import silver_context
from tests.worlds.histories import FIRST_MS, KEYS, History

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

FIRST, SECOND, OTHER = KEYS
NAMES: Final = {topic_id_text(FIRST.topic_id): "orders", topic_id_text(OTHER.topic_id): "payments"}
LAST_MS: Final = FIRST_MS + 4000
ALL: Final[Mapping[str, Any]] = {
    "group": None,
    "topic": None,
    "partition": None,
    "since_ms": None,
    "until_ms": None,
}


class TopicsWithEnds(InMemoryLogReader):
    """A log of a cluster whose topics end where a test says; without ends it does not answer."""

    def __init__(self, ends: Mapping[tuple[str, int], PartitionEnd] | None) -> None:
        super().__init__([])
        self._ends = ends
        self.asked_ms: list[int] = []

    def topic_ends(
        self, topics: Mapping[str, str], *, earlier_ms: int
    ) -> Mapping[tuple[str, int], PartitionEnd]:
        assert topics == NAMES
        self.asked_ms.append(earlier_ms)
        if self._ends is None:
            raise JobFailed("no answer in time")
        return self._ends

    def stream(self, *, most_per_batch: int | None, on_gap: str) -> NoReturn:
        raise AssertionError(f"nobody follows this log, {most_per_batch} records at a time, {on_gap} on gaps")


def accepted(first_offset: int, last_offset: int) -> list[StateBatch]:
    return [StateBatch(first_offset, last_offset, RecordState.ACKNOWLEDGED, 1)]


def released(offset: int) -> list[StateBatch]:
    return [StateBatch(offset, offset, RecordState.AVAILABLE, 1)]


def context_of(spark: Any, cluster: TopicsWithEnds) -> JobContext:
    """One share-partition that got record 0 back, one that finished records 0 to 4, and one without a change."""
    history = History()
    for key in KEYS:
        history.snapshot(key)
    history.update(FIRST, released(0), 0)
    history.update(SECOND, accepted(0, 4), 0)
    rows = pa.Table.from_batches([batch_of(0, history.records)])
    return silver_context(silver_rows(spark.createDataFrame(rows).coalesce(1)), NAMES, cluster)


def ends_of(**offsets: tuple[int, int]) -> dict[tuple[str, int], PartitionEnd]:
    keys = {"first": FIRST, "second": SECOND, "other": OTHER}
    return {
        (topic_id_text(keys[name].topic_id), keys[name].partition): TopicEnd(*both)
        for name, both in offsets.items()
    }


def found_in(context: JobContext, *, quiet_ms: int = 1000, **more: Any) -> tuple[Sequence[Any], Any]:
    result = run(
        context, **{**ALL, "delivery_limit": 5, "near": 1, "behind": 100, "quiet_ms": quiet_ms, **more}
    )
    shown = ("topicName", "partition", "offset", "reason", "deliveryCount", "lag", "since")
    return [tuple(row[name] for name in shown) for row in result.frame.collect()], result


def test_the_plainest_stuck_queue_is_found_by_the_end_of_its_topic(spark: Any) -> None:
    # Given
    cluster = TopicsWithEnds(ends_of(first=(5000, 5000), second=(5, 5), other=(12, 7)))

    # When
    found, result = found_in(context_of(spark, cluster))

    # Then
    assert found == [
        ("payments", 0, 0, "no-progress", 0, 12, "2026-11-21T12:00:02Z"),
        ("orders", 0, 0, "no-progress", 1, 5000, "2026-11-21T12:00:03Z"),
    ]
    assert result.extra == {"notKnown": [NO_ACQUISITIONS]}
    assert result.exit_code is ExitCode.OK


@pytest.mark.soak
def test_the_first_open_record_stands_for_a_share_partition_that_waits(spark: Any) -> None:
    # Given
    cluster = TopicsWithEnds(ends_of(second=(7, 6)))

    # When
    found, _ = found_in(context_of(spark, cluster))

    # Then
    assert found == [("orders", 1, 5, "no-progress", 0, 2, "2026-11-21T12:00:04Z")]


@pytest.mark.soak
def test_records_that_came_a_moment_ago_are_not_stuck(spark: Any) -> None:
    # Given
    cluster = TopicsWithEnds(ends_of(second=(100, 5)))

    # When
    found, _ = found_in(context_of(spark, cluster))

    # Then
    assert found == []


def test_a_share_partition_that_made_progress_a_moment_ago_is_not_stuck(spark: Any) -> None:
    # Given
    cluster = TopicsWithEnds(ends_of(first=(5000, 5000)))

    # When
    found, _ = found_in(context_of(spark, cluster), quiet_ms=10 * 365 * 86_400_000)

    # Then
    assert found == []


def test_what_is_consumed_while_the_log_is_read_is_not_stuck(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    cluster = TopicsWithEnds(ends_of(second=(10, 10)))
    context = context_of(spark, cluster)
    clock: Any = SimpleNamespace(now_ms=LAST_MS)
    clock.time_ns = lambda: clock.now_ms * 1_000_000
    monkeypatch.setattr("kproxy.jobs.analyses.stuck.time", clock)
    read = Selection.silver

    def read_for_an_hour(selection: Selection, *places: Any) -> Any:
        clock.now_ms += 3_600_000
        return read(selection, *places)

    monkeypatch.setattr(Selection, "silver", read_for_an_hour)

    # When
    found_in(context, quiet_ms=1_000)

    # Then
    assert cluster.asked_ms == [LAST_MS - 1_000]


def test_a_cluster_that_does_not_say_where_topics_end_is_a_partial_failure(spark: Any) -> None:
    # When
    found, result = found_in(context_of(spark, TopicsWithEnds(None)))

    # Then
    assert found == []
    assert result.exit_code is ExitCode.PARTIAL_FAILURE
    assert result.extra["notKnown"][1] == f"{NO_ENDS}, and the cluster does not say: no answer in time"


def test_a_queue_whose_partition_has_no_leader_is_not_known_to_be_well(spark: Any) -> None:
    # Given
    lost = {
        (topic_id_text(FIRST.topic_id), number): Leaderless(number, (1,)) for number in (FIRST.partition, 7)
    }
    cluster = TopicsWithEnds(ends_of(second=(5, 5), other=(0, 0)) | lost)

    # When
    found, result = found_in(context_of(spark, cluster))

    # Then
    assert found == []
    assert result.exit_code is ExitCode.PARTIAL_FAILURE
    assert result.extra["notKnown"][1] == "where orders ends: partition 0 has no leader (broker 1 is down)"


@pytest.mark.soak
def test_a_question_about_the_past_does_not_ask_for_the_ends_of_today(spark: Any) -> None:
    # Given
    cluster = TopicsWithEnds(ends_of(first=(5000, 5000)))

    # When
    found, result = found_in(context_of(spark, cluster), until_ms=LAST_MS + 1)

    # Then
    assert (found, cluster.asked_ms) == ([], [])
    assert result.extra["notKnown"] == [
        NO_ACQUISITIONS,
        f"{NO_ENDS}, and with --until the cluster is not asked",
    ]


@pytest.mark.soak
def test_files_say_what_they_cannot_know(tmp_path: Path) -> None:
    # Given
    history = History()
    history.snapshot(FIRST)
    pq.write_table(pa.Table.from_batches([batch_of(0, history.records)]), tmp_path / "0.parquet")

    # When
    stuck, lags = (replay(job, "--files", tmp_path, "-o", "json") for job in ("stuck", "lag-history"))

    # Then
    assert summary_of(stuck)["notKnown"] == [NO_ACQUISITIONS, f"{NO_ENDS}; give -b to ask the cluster"]
    assert summary_of(lags)["notKnown"] == [NO_ACQUISITIONS, NO_ENDS]
    assert "Note: not known: where the topics ended" in stuck.stderr
    assert (stuck.exit_code, lags.exit_code) == (0, 0)
