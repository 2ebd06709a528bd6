"""The oldest Spark that the jobs run on, 4.0.0, and Spark's own Kafka source, on a real Kafka."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow.dataset as ds
import pytest

from kproxy.errors import ExitCode
from kproxy.jobs.history.silver import MISSING
from kproxy.jobs.sources.raw_records import RAW_ARROW_SCHEMA
from kproxy.wire.records import Record
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.spark.kafka_logs import (
    append,
    create_log,
    expire,
    in_order,
    made_up,
    shown,
    silver_at,
    silver_of,
    states_of,
)
from tests.spark.spark_4_0.environment import Spark40, spark_4_0
from tests.spark.spark_4_0.jobs import Ended, kproxy, replay, run_python

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(1800)]

OURS: Final = "__kproxy_share_state"
KAFKAS: Final = "__share_group_state"
"""Internal to Kafka, which Spark's Kafka source passes over in silence unless it is told otherwise."""
_NEWER: Final = frozenset({"kproxy.jobs.sources.stream_reader"})
"""What only the source in Python needs, which asks for Spark 4.2 before it gets there."""
_IMPORT_ALL: Final = f"""
import importlib, pkgutil, kproxy.jobs
for module in pkgutil.walk_packages(kproxy.jobs.__path__, "kproxy.jobs."):
    if "__main__" not in module.name and ".pictures" not in module.name and module.name not in {set(_NEWER)!r}:
        importlib.import_module(module.name)
"""


@pytest.fixture(scope="module")
def old_spark() -> Spark40:
    return spark_4_0()


@pytest.fixture(scope="module")
def brokers() -> Iterator[str]:
    with KafkaCluster() as cluster:
        yield cluster.bootstrap_servers


def log_of(brokers: str, seed: int, topic: str) -> dict[int, list[Record]]:
    """Create a topic, and return the records that it is to have by partition."""
    create_log(brokers, topic)
    return {number: each.records for number, each in enumerate(made_up(seed))}


def halves(log: Mapping[int, Sequence[Record]]) -> tuple[dict[int, list[Record]], dict[int, list[Record]]]:
    cuts = {number: len(records) // 2 for number, records in log.items()}
    return (
        {number: list(records[: cuts[number]]) for number, records in log.items()},
        {number: list(records[cuts[number] :]) for number, records in log.items()},
    )


def files_of(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*.parquet") if "_temporary" not in path.parts}


def test_the_jobs_import_on_spark_4_0(old_spark: Spark40) -> None:
    # When
    done = run_python(old_spark, "-W", "ignore", "-c", _IMPORT_ALL)

    # Then
    assert done.exit_code == 0, done.stderr


def test_the_source_in_python_asks_for_a_newer_spark_in_one_line(old_spark: Spark40) -> None:
    # When
    done = replay(old_spark, "state-at", "-b", "127.0.0.1:9", "--source", "python")

    # Then
    assert done.exit_code == ExitCode.USAGE, done.stderr
    (said,) = done.errors
    assert "needs Spark 4.2 or later, and this is 4.0.0" in said
    assert not done.stdout


def test_sparks_own_source_reads_what_recovery_reads(old_spark: Spark40, brokers: str) -> None:
    # Given
    made = made_up(7)
    create_log(brokers, OURS)
    append(brokers, OURS, {number: each.records for number, each in enumerate(made)})

    # When
    states = replay(old_spark, "state-at", "-b", brokers, "--no-index", "-o", "json")
    counted = replay(old_spark, "throughput", "-b", brokers, "--source", "jar", "-o", "json")

    # Then
    assert (states.exit_code, counted.exit_code) == (0, 0), states.stderr + counted.stderr
    assert shown(states.rows) == states_of(made)
    accepted = sum(fact.record_count for each in made for fact in each.facts if fact.event == "accept")
    assert sum(row["accepted"] for row in counted.rows) == accepted


def test_a_topic_that_is_internal_to_kafka_is_read_as_well(
    old_spark: Spark40, brokers: str, tmp_path: Path
) -> None:
    # Given
    log = log_of(brokers, 19, KAFKAS)
    append(brokers, KAFKAS, log)
    source = ("-b", brokers, "--state-topic", KAFKAS)

    # When
    states = replay(old_spark, "state-at", *source, "--no-index", "-o", "json")
    exported = replay(old_spark, "export", *source, "--to", tmp_path / "history")

    # Then
    assert (states.exit_code, exported.exit_code) == (0, 0), states.stderr + exported.stderr
    assert shown(states.rows) == states_of(made_up(19))
    assert in_order(silver_at(tmp_path / "history")) == in_order(silver_of(log))


class TestExport:
    def test_each_run_writes_what_is_new_and_all_of_them_the_whole_history(
        self, old_spark: Spark40, brokers: str, tmp_path: Path
    ) -> None:
        # Given
        topic = unique_name("incremental")
        log = log_of(brokers, 11, topic)
        first_half, second_half = halves(log)
        append(brokers, topic, first_half)
        export = ("export", "-b", brokers, "--state-topic", topic, "--to", tmp_path / "history", "-o", "json")
        first = replay(old_spark, *export, "--max-records-per-batch", "40")
        assert (first.exit_code, first.errors) == (0, []), first.stderr
        written = silver_at(tmp_path / "history")
        nothing = replay(old_spark, *export)
        append(brokers, topic, second_half)

        # When
        rest = replay(old_spark, *export)

        # Then
        assert (nothing.exit_code, rest.exit_code) == (0, 0), nothing.stderr + rest.stderr
        assert first.summary["batches"] > 1
        assert in_order(written) == in_order(silver_of(first_half))
        assert (nothing.rows, nothing.summary["batches"]) == ([], 0)
        whole = silver_at(tmp_path / "history")
        assert in_order(whole) == in_order(silver_of(log))
        assert sum(row["rows"] for row in rest.rows) == len(whole) - len(written)

    def test_expired_history_ends_it_and_is_reported_to_who_wants_to_go_on(
        self, old_spark: Spark40, brokers: str, tmp_path: Path
    ) -> None:
        # Given
        topic = unique_name("expired")
        log = log_of(brokers, 13, topic)
        first_half, second_half = halves(log)
        append(brokers, topic, first_half)
        export = ("export", "-b", brokers, "--state-topic", topic, "--to", tmp_path / "history")
        assert replay(old_spark, *export).exit_code == 0
        written, files = silver_at(tmp_path / "history"), files_of(tmp_path / "history")
        append(brokers, topic, second_half)
        next_offset = len(first_half[1])
        expire(brokers, topic, {1: next_offset + 5})

        # When
        failed = replay(old_spark, *export)
        kept = files_of(tmp_path / "history")
        reported = replay(old_spark, *export, "--on-gap", "report")

        # Then
        assert_says_what_is_missing(failed, 1, next_offset, next_offset + 5)
        assert kept == files
        assert reported.exit_code == ExitCode.PARTIAL_FAILURE, reported.stderr
        # Updates to a snapshot that was among what expired cannot be used, and are told as well.
        gap, *useless = reported.summary["gaps"]
        lost = (1, next_offset, next_offset + 5)
        assert (gap["partition"], gap["firstOffset"], gap["endOffset"]) == lost
        assert len(useless) == reported.summary["corrupt"]
        assert all("which is at" in each["reason"] for each in useless), useless
        rows = silver_at(tmp_path / "history")
        (missing,) = (row for row in rows if row["kind"] == MISSING)
        assert (missing["first_offset"], missing["last_offset"]) == (next_offset, next_offset + 4)
        offsets = {(row["log_partition"], row["log_offset"]) for row in rows if row["kind"] != MISSING}
        gone = {(1, offset) for offset in range(next_offset, next_offset + 5)}
        assert offsets == {(number, each.offset) for number in log for each in log[number]} - gone
        assert len(rows) > len(written)


def assert_says_what_is_missing(failed: Ended, partition: int, first_offset: int, end_offset: int) -> None:
    assert failed.exit_code == ExitCode.NOT_FOUND, failed.stderr
    (said,) = failed.errors
    assert f"partition {partition}, offsets {first_offset}-{end_offset - 1} are missing" in said
    assert "--on-gap report" in said


def test_all_three_sources_have_the_same_rows(old_spark: Spark40, brokers: str, tmp_path: Path) -> None:
    # Given
    topic = unique_name("threefold")
    log = log_of(brokers, 17, topic)
    append(brokers, topic, log)
    source = ("-b", brokers, "--state-topic", topic)
    dump = kproxy("log", "dump", "-b", brokers, "-X", f"kproxy.state.topic.name={topic}")
    (tmp_path / "dump.jsonl").write_text(dump.stdout)
    export = ("export", "--records", "--to")

    # When
    done = [
        replay(old_spark, *export, tmp_path / "jar", *source, "--source", "jar"),
        kproxy("replay", *export, tmp_path / "python", *source, "--source", "python"),
        kproxy("replay", *export, tmp_path / "files", "--files", tmp_path / "dump.jsonl"),
    ]

    # Then
    assert [each.exit_code for each in done] == [0, 0, 0], [each.stderr for each in done]
    jar, python, files = (records_at(tmp_path / name) for name in ("jar", "python", "files"))
    assert jar == python == files
    assert len(jar) == sum(map(len, log.values()))


def records_at(folder: Path) -> list[dict[str, Any]]:
    rows = ds.dataset(folder, format="parquet").to_table(list(RAW_ARROW_SCHEMA.names)).to_pylist()
    # A record without headers has none of them, or an empty list: both mean the same.
    plain = [row | {"headers": row["headers"] or []} for row in rows]
    return sorted(plain, key=lambda row: (row["log_partition"], row["log_offset"]))
