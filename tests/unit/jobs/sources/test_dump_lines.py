import json
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given

from kproxy.clients.log_lines import LogTopic, json_of, line_of
from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed, failure_of_spark
from kproxy.jobs.sources.dump_lines import DUMP_ARROW_SCHEMA, record_of, rows_of_lines
from kproxy.jobs.sources.raw_records import RAW_ARROW_SCHEMA, records_of
from kproxy.share.identifiers import GroupId
from kproxy.share.share_group_image import StatePartitions
from kproxy.statelog.group_parts import StatePartitionMetadata
from kproxy.statelog.group_records import RecoveryPoint, encode_group_record
from kproxy.statelog.state_records import decode_state_record
from kproxy.wire.records import Record
from tests.in_memory.written_log import ALICE, ORDERS, a_claim, a_snapshot, a_tombstone, an_update
from tests.worlds.histories import History, histories


def dumped(record: Record, kind: LogTopic = LogTopic.STATE) -> str:
    return json.dumps(json_of(line_of(kind, "log", 3, record)))


def placed(record: Record) -> Record:
    return replace(record, offset=7, timestamp_ms=1_795_262_400_000)


@pytest.mark.parametrize(
    "record", [a_claim(), a_snapshot(), an_update(), a_tombstone(), Record(b"\x00\x09", b"?")]
)
def test_a_line_of_a_dump_is_the_record_again(record: Record) -> None:
    # When
    read = record_of(dumped(placed(record)))

    # Then
    assert read == ("log", 3, placed(record))


def test_a_line_that_was_printed_before_headers_had_versions_is_the_first_form_again() -> None:
    # Given
    line = json.loads(dumped(placed(an_update())))
    for field in ("version", "acknowledgeType", "end"):
        del line["headers"][1]["value"][field]

    # When
    read = record_of(json.dumps(line))

    # Then
    assert read is not None
    assert decode_state_record(read[2]).actors == (replace(ALICE, acknowledge_type=None, version=0),)


@given(history=histories())
def test_a_dump_of_a_history_is_the_history_again(history: History) -> None:
    # Given
    lines = pa.RecordBatch.from_pydict({"value": [dumped(record) for record in history.records]})

    # When
    (rows,) = rows_of_lines(iter([lines]))

    # Then
    assert rows.schema == DUMP_ARROW_SCHEMA
    columns = pa.RecordBatch.from_arrays(rows.columns[1:], schema=RAW_ARROW_SCHEMA)
    assert [record for _, record in records_of(columns)] == history.records


def test_the_record_that_names_topics_comes_back_from_a_dump_of_the_groups_topic() -> None:
    # Given
    topics = {ORDERS: StatePartitions("orders", frozenset({0, 1}))}
    record = encode_group_record(StatePartitionMetadata(GroupId("workers"), {}, topics, {}), claim_epoch=4)

    # When
    read = record_of(dumped(placed(record), LogTopic.GROUPS))

    # Then
    assert read == ("log", 3, placed(record))


def test_other_records_of_the_groups_topic_are_left_out() -> None:
    # Given
    record = encode_group_record(RecoveryPoint(5), claim_epoch=4)

    # When
    read = record_of(dumped(placed(record), LogTopic.GROUPS))

    # Then
    assert read is None


@pytest.mark.parametrize("line", ["no JSON", "{}", "[]", '{"key": {"type": 1}, "value": null}'])
def test_a_line_of_something_else_is_a_usage_error(line: str) -> None:
    # When
    with pytest.raises(JobFailed, match="no line of kproxy log dump") as refusal:
        record_of(line)

    # Then
    assert refusal.value.exit_code is ExitCode.USAGE


def test_bytes_that_are_no_text_are_a_usage_error() -> None:
    # Given
    lines = pa.array([b'{"topic": "\xff"}']).cast(pa.string(), safe=False)

    # When
    with pytest.raises(Exception, match="no UTF-8 at byte 11") as refusal:
        list(rows_of_lines(iter([pa.RecordBatch.from_arrays([lines], ["value"])])))

    # Then
    assert failure_of_spark(str(refusal.value)).exit_code is ExitCode.USAGE
