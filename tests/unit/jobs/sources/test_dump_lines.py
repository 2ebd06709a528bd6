import json
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given

from kproxy.clients.dump_format import json_of
from kproxy.clients.log_lines import LogTopic, line_of
from kproxy.errors import ExitCode
from kproxy.jobs.failures import failure_of_spark
from kproxy.jobs.sources.dump_lines import DUMP_ARROW_SCHEMA, rows_of_lines
from kproxy.jobs.sources.raw_records import RAW_ARROW_SCHEMA, records_of
from kproxy.share.identifiers import GroupId
from kproxy.share.share_group_image import StatePartitions
from kproxy.statelog.group_parts import StatePartitionMetadata
from kproxy.statelog.group_records import RecoveryPoint, encode_group_record
from kproxy.wire.records import Record
from tests.in_memory.written_log import ORDERS
from tests.worlds.histories import History, histories


def dumped(record: Record, kind: LogTopic = LogTopic.STATE) -> str:
    return json.dumps(json_of(line_of(kind, "log", 3, record)))


def placed(record: Record) -> Record:
    return replace(record, offset=7, timestamp_ms=1_795_262_400_000)


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


def test_of_the_groups_topic_the_record_that_names_topics_comes_back_and_others_are_left_out() -> None:
    # Given
    topics = {ORDERS: StatePartitions("orders", frozenset({0, 1}))}
    naming = StatePartitionMetadata(GroupId("workers"), {}, topics, {})
    records = [encode_group_record(each, claim_epoch=4) for each in (RecoveryPoint(5), naming)]
    lines = [dumped(record, LogTopic.GROUPS) for record in records]

    # When
    (rows,) = rows_of_lines(iter([pa.RecordBatch.from_pydict({"value": lines})]))

    # Then
    assert rows.column("key").to_pylist() == [records[1].key]


def test_a_line_of_something_else_is_a_usage_error() -> None:
    # Given
    lines = pa.RecordBatch.from_pydict({"value": ["", "no JSON"]})

    # When
    with pytest.raises(Exception, match="no line of kproxy log dump") as refusal:
        list(rows_of_lines(iter([lines])))

    # Then
    assert failure_of_spark(str(refusal.value)).exit_code is ExitCode.USAGE


def test_bytes_that_are_no_text_are_a_usage_error() -> None:
    # Given
    lines = pa.array([b'{"topic": "\xff"}']).cast(pa.string(), safe=False)

    # When
    with pytest.raises(Exception, match="no UTF-8 at byte 11") as refusal:
        list(rows_of_lines(iter([pa.RecordBatch.from_arrays([lines], ["value"])])))

    # Then
    assert failure_of_spark(str(refusal.value)).exit_code is ExitCode.USAGE
