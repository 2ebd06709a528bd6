"""The jobs on real log bytes: what `kproxy log dump` printed after a run of the demo, with three real consumers."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kproxy.clients.dump_format import json_of
from kproxy.clients.log_lines import LogTopic, line_of
from kproxy.share.identifiers import GroupId, topic_id_of
from kproxy.share.share_group_image import StatePartitions
from kproxy.statelog.group_parts import StatePartitionMetadata
from kproxy.statelog.group_records import encode_group_record
from tests.spark.log_generator import write_partition
from tests.spark.replays import replay, summary_of

DEMO: Final = Path(__file__).parent / "data" / "demo.jsonl"
CORRUPT: Final = {
    "topic": "__kproxy_share_state",
    "partition": 8,
    "timestamp": 1_795_276_999_000,
    "claimEpoch": None,
    "headers": [],
    "key": None,
    "value": None,
    "error": "unknown record type 9",
    "keyBytes": "AAk=",
    "valueBytes": "Pw==",
}


def lines_of_demo() -> list[dict[str, Any]]:
    return [json.loads(line) for line in DEMO.read_text().splitlines()]


def oracle(lines: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str, int], dict[int, tuple[int, int]]]:
    """Return, by share-partition, delivery count and state of each offset that the log says something of."""
    states: dict[tuple[str, str, int], dict[int, tuple[int, int]]] = {}
    starts: dict[tuple[str, str, int], int] = {}
    claims: dict[int, int] = {}
    for line in lines:
        kind, data = line["key"]["type"], line["key"]["data"]
        if kind == 27504:
            claims[line["partition"]] = line["offset"]
        elif line["claimEpoch"] == claims.get(line["partition"]):
            key = (data["groupId"], data["topicId"], data["partition"])
            value = line["value"]["data"]
            known = states.setdefault(key, {}) if kind == 1 else {}
            starts[key] = max(value["startOffset"], starts.get(key, 0) if kind == 1 else 0)
            for batch in value["stateBatches"]:
                for offset in range(batch["firstOffset"], batch["lastOffset"] + 1):
                    said = (batch["deliveryCount"], batch["deliveryState"])
                    known[offset] = max(said, known.get(offset, said))
            states[key] = {offset: said for offset, said in known.items() if offset >= starts[key]}
    return states


def states_in(shown: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str, int], dict[int, tuple[int, int]]]:
    return {
        (state["groupId"], state["topicId"], state["partition"]): {
            offset: (batch["deliveryCount"], batch["deliveryState"])
            for batch in state["stateBatches"]
            for offset in range(batch["firstOffset"], batch["lastOffset"] + 1)
        }
        for state in shown
    }


@pytest.mark.usefixtures("spark")
class TestStateAt:
    def test_the_state_of_a_real_log_is_what_an_oracle_says(self) -> None:
        # When
        ended = replay("state-at", "--files", DEMO, "--no-index", "-o", "json")

        # Then
        assert ended.exit_code == 0, ended.stderr
        assert states_in(json.loads(ended.stdout)) == oracle(lines_of_demo())
        assert summary_of(ended)["records"] == len(lines_of_demo())

    def test_the_summary_says_how_much_was_read_and_of_which_log_partition_if_asked(self) -> None:
        # When
        short, long = (
            summary_of(replay("state-at", "--files", DEMO, "--no-index", *options))
            for options in ((), ("--ranges",))
        )

        # Then
        offsets = sum(part["endOffset"] - part["firstOffset"] for part in long["ranges"])
        assert "ranges" not in short
        assert short["read"] == long["read"] == {"logPartitions": len(long["ranges"]), "offsets": offsets}
        assert offsets >= len(lines_of_demo())

    def test_each_state_has_kafkas_own_field_names(self) -> None:
        # When
        ended = replay("state-at", "--files", DEMO, "--no-index", "-o", "json")

        # Then
        assert list(json.loads(ended.stdout)[0]) == [
            *("groupId", "topicId", "topicName", "partition", "stateEpoch", "leaderEpoch", "startOffset"),
            *("deliveryCompleteCount", "stateBatches"),
        ]

    def test_a_dump_of_the_groups_topic_in_the_same_folder_names_the_topics(self, tmp_path: Path) -> None:
        # Given
        topic_id = next(
            line["key"]["data"]["topicId"] for line in lines_of_demo() if line["key"]["type"] == 0
        )
        topics = {topic_id_of(topic_id): StatePartitions("jobs", frozenset({0}))}
        told = encode_group_record(StatePartitionMetadata(GroupId("workers"), {}, topics, {}), claim_epoch=0)
        line = json_of(line_of(LogTopic.GROUPS, "__kproxy_share_groups", 0, told))
        (tmp_path / "groups.jsonl").write_text(json.dumps(line))
        (tmp_path / "state.jsonl").write_text(DEMO.read_text())

        # When
        ended = replay("state-at", "--files", tmp_path, "-o", "json")

        # Then
        names = {state["topicName"] for state in json.loads(ended.stdout) if state["topicId"] == topic_id}
        assert names == {"jobs"}
        assert summary_of(ended)["records"] == len(lines_of_demo())

    def test_a_log_offset_is_a_moment(self) -> None:
        # Given
        until = [line for line in lines_of_demo() if line["partition"] == 8 and line["offset"] <= 40]

        # When
        ended = replay("state-at", "--files", DEMO, "--no-index", "-o", "json", "--at-offset", "8:40")

        # Then
        assert states_in(json.loads(ended.stdout)) == oracle(until)

    def test_a_time_is_a_moment(self) -> None:
        # Given
        times = sorted(line["timestamp"] for line in lines_of_demo())
        moment = times[len(times) // 2]
        until = [line for line in lines_of_demo() if line["timestamp"] <= moment]

        # When
        ended = replay("state-at", "--files", DEMO, "--no-index", "-o", "json", "--at", str(moment))

        # Then
        assert states_in(json.loads(ended.stdout)) == oracle(until)

    @pytest.mark.soak
    def test_with_an_index_far_less_is_read_and_the_state_is_the_same(self, tmp_path: Path) -> None:
        # Given
        log = tmp_path / "a:b, c" / "log"
        write_partition(log, 0, 3000, 2)
        index = ("--index", tmp_path / "a:b, c" / "index")
        whole = replay("state-at", "--files", log, "--no-index", "-o", "json")
        replay("state-at", "--files", log, *index, "--at-offset", "0:1500")

        # When
        short = replay("state-at", "--files", log, *index, "-o", "json")

        # Then
        assert json.loads(short.stdout) == json.loads(whole.stdout)
        assert summary_of(whole)["records"] == 3000
        assert summary_of(short)["records"] <= 2 * 501

    def test_a_time_before_the_first_record_is_not_found(self) -> None:
        # When
        ended = replay("state-at", "--files", DEMO, "--no-index", "--at", "2020-01-01")

        # Then
        assert ended.exit_code == 3
        assert "begins after 2020-01-01T00:00:00.000Z" in ended.stderr.splitlines()[-1]
        assert ended.stdout == ""

    @pytest.mark.soak
    def test_an_undecodable_record_is_one_line_unless_it_is_to_be_skipped(self, tmp_path: Path) -> None:
        # Given
        last = max(line["offset"] for line in lines_of_demo() if line["partition"] == 8)
        file = tmp_path / "dump.jsonl"
        file.write_text(DEMO.read_text() + json.dumps({**CORRUPT, "offset": last + 1}))

        # When
        stopped = replay("state-at", "--files", file, "--no-index", "--out", tmp_path / "out")
        skipped = replay("state-at", "--files", file, "--no-index", "--on-corrupt", "skip")

        # Then
        assert stopped.exit_code == 1
        (line,) = stopped.stderr.splitlines()
        assert line == f"Error: offset {last + 1}: unknown record type 9; --on-corrupt skip passes over it"
        assert not list(tmp_path.glob("*out*"))
        assert (skipped.exit_code, summary_of(skipped)["corrupt"]) == (0, 1)


@pytest.mark.usefixtures("spark")
class TestVerify:
    def test_a_real_log_is_sound(self) -> None:
        # When
        ended = replay("verify", "--files", DEMO, "--offline", "-o", "json")

        # Then
        assert ended.exit_code == 0, ended.stdout + ended.stderr
        assert [problem for problem in json.loads(ended.stdout) if problem["kind"] != "notice"] == []

    def test_a_planted_corruption_fails_the_check_and_is_shown(self, tmp_path: Path) -> None:
        # Given
        lines = lines_of_demo()
        (snapshot,) = (line for line in lines if line["partition"] == 8 and line["key"]["type"] == 0)
        lines.remove(snapshot)
        (tmp_path / "dump.jsonl").write_text("\n".join(map(json.dumps, lines)))

        # When
        ended = replay("verify", "--files", tmp_path, "--offline", "-o", "csv")

        # Then
        assert ended.exit_code == 5
        assert summary_of(ended)["deliveryLimit"] == 10
        problem, notice = csv.DictReader(ended.stdout.splitlines())
        assert (problem["kind"], problem["logPartition"]) == ("violation", "8")
        assert problem["detail"].startswith("updates without a snapshot")
        assert (notice["kind"], notice["detail"]) == ("notice", "offsets 1-1 before it are missing")

    def test_a_share_partition_in_two_log_partitions_is_a_violation(self, tmp_path: Path) -> None:
        # Given
        for number in (3, 5):
            write_partition(tmp_path, number, 20, 2)
        file = pq.read_table(tmp_path / "part-00003.parquet")
        numbers = pa.array([5] * file.num_rows, pa.int32())
        pq.write_table(file.set_column(0, file.schema.field(0), numbers), tmp_path / "part-00005.parquet")

        # When
        ended = replay("verify", "--files", tmp_path, "--offline", "-o", "csv")

        # Then
        assert (ended.exit_code, summary_of(ended)["violations"]) == (5, 2)
        found = list(csv.DictReader(ended.stdout.splitlines()))
        assert {problem["detail"] for problem in found} == {"has a state in each of log partitions 3, 5"}
        assert [(problem["groupId"], problem["partition"]) for problem in found] == [
            ("workers", "0"),
            ("workers", "1"),
        ]


@pytest.mark.usefixtures("spark")
class TestExportAndSnapshot:
    @pytest.mark.soak
    def test_history_in_files_is_exported_by_date_and_hour(self, tmp_path: Path) -> None:
        # When
        ended = replay("export", "--files", DEMO, "--to", tmp_path / "history")

        # Then
        assert ended.exit_code == 0, ended.stderr
        folders = {str(path.parent.relative_to(tmp_path / "history")) for path in tmp_path.rglob("*.parquet")}
        assert folders == {"dt=2026-11-21/hour=15"} or all(
            folder.startswith("dt=2026-") for folder in folders
        )

    def test_exported_history_answers_as_the_log_does_wherever_it_stands(self, tmp_path: Path) -> None:
        # Given
        history = tmp_path / "50% of a b[1],{ü}*#" / "history"
        exported = replay("export", "--files", DEMO, "--to", history)
        assert exported.exit_code == 0, exported.stderr

        # When
        answers = [
            replay("throughput", "--files", place, "--every", "1s", "-o", "json") for place in (DEMO, history)
        ]

        # Then
        assert [answer.exit_code for answer in answers] == [0, 0], answers[1].stderr
        assert json.loads(answers[0].stdout) == json.loads(answers[1].stdout)
        assert ["read" in summary_of(answer) for answer in answers] == [True, False]

    def test_what_is_there_already_is_not_written_over(self, tmp_path: Path) -> None:
        # When
        ended = replay("export", "--files", DEMO, "--to", tmp_path)

        # Then
        assert ended.exit_code == 2
        assert "is there already" in ended.stderr

    @pytest.mark.soak
    def test_exported_records_are_the_log_again(self, tmp_path: Path) -> None:
        # Given
        replay("export", "--files", DEMO, "--records", "--to", tmp_path / "records")

        # When
        states = [
            replay("state-at", "--files", place, "--no-index", "-o", "json")
            for place in (DEMO, tmp_path / "records")
        ]

        # Then
        assert json.loads(states[0].stdout) == json.loads(states[1].stdout)

    @pytest.mark.parametrize("for_kafka", [False, True])
    @pytest.mark.soak
    def test_a_compact_log_leads_to_the_same_state(self, tmp_path: Path, *, for_kafka: bool) -> None:
        # Given
        flag = ["--for-kafka"] if for_kafka else []
        how = (*flag, "--partitions", "50", "-o", "parquet")
        compact = replay("snapshot", "--files", DEMO, *how, "--out", tmp_path / "compact")
        assert compact.exit_code == 0, compact.stderr

        # When
        ended = replay("state-at", "--files", tmp_path / "compact", "--no-index", "-o", "json")

        # Then
        states = json.loads(ended.stdout)
        assert states_in(states) == oracle(lines_of_demo())
        assert summary_of(ended)["records"] == len(states)
        assert not for_kafka or {state["leaderEpoch"] for state in states} == {0}
