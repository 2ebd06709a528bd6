"""What is counted of a log partition."""

from dataclasses import replace

from kproxy.cli.log_statistics import TABLE_HEADER, PartitionStatistics, json_of, row_of
from kproxy.clients.log_lines import LogTopic, line_of
from kproxy.share.identifiers import GroupId, LeaderEpoch, SnapshotEpoch, StateEpoch
from kproxy.statelog.group_records import GroupConfigs, encode_group_record, encode_group_tombstone
from kproxy.statelog.state_records import ShareSnapshot, encode_state_record
from kproxy.wire.records import Record
from tests.in_memory.written_log import KEY, a_claim, a_snapshot, a_tombstone, an_update

OTHER_KEY = KEY._replace(partition=2)


def statistics_of(kind: LogTopic, *records: Record) -> PartitionStatistics:
    statistics = PartitionStatistics(kind, 7)
    for number, record in enumerate(records):
        written = replace(record, offset=100 + number, timestamp_ms=1_700_000_000_000 + 1000 * number)
        statistics.add(line_of(kind, "log", 7, written))
    return statistics


def test_records_are_counted_by_type_and_keys_that_live() -> None:
    # Given
    records = [
        a_claim(),
        a_snapshot(),
        an_update(),
        an_update(),
        a_snapshot(OTHER_KEY),
        a_tombstone(OTHER_KEY),
        Record(b"\x00\x09", b"12"),
    ]

    # When
    shown = json_of(statistics_of(LogTopic.STATE, *records))

    # Then
    assert {name: shown[name] for name in shown if name != "bytes"} == {
        "partition": 7,
        "records": 7,
        "claims": 1,
        "keys": 1,
        "firstOffset": 100,
        "lastOffset": 106,
        "firstTimestamp": 1_700_000_000_000,
        "lastTimestamp": 1_700_000_006_000,
        "recordsByType": {
            "KproxyClaim": 1,
            "ShareSnapshot": 2,
            "ShareUpdate": 2,
            "Tombstone": 1,
            "Undecodable": 1,
        },
    }


def test_a_share_partition_that_an_early_deletion_marker_ended_is_no_key_any_more() -> None:
    # Given
    mark = encode_state_record(
        ShareSnapshot(KEY, SnapshotEpoch(-1), StateEpoch(1), LeaderEpoch(0), 0, 0, 0, 0, ()),
        claim_epoch=None,
        actors=(),
    )

    # When
    statistics = statistics_of(LogTopic.STATE, a_snapshot(), a_snapshot(OTHER_KEY), mark)

    # Then
    assert statistics.key_count == 1


def test_bytes_are_those_of_key_value_and_headers() -> None:
    # Given
    record = Record(b"\x00\x09", b"12", headers=(("ü", b"345"), ("x", None)))

    # When
    statistics = statistics_of(LogTopic.STATE, record, Record(None, None))

    # Then
    assert statistics.size_bytes == 2 + 2 + (2 + 3) + 1
    assert statistics.undecodable_count == 2


def test_a_group_that_was_removed_is_no_key_any_more() -> None:
    # Given
    of_g, of_h = (
        encode_group_record(GroupConfigs(GroupId(group_id), {}), claim_epoch=0) for group_id in "gh"
    )
    assert of_g.key is not None

    # When
    statistics = statistics_of(LogTopic.GROUPS, of_g, of_h, encode_group_tombstone(of_g.key, claim_epoch=0))

    # Then
    assert statistics.key_count == 1


def test_a_row_says_the_same() -> None:
    # When
    row = dict(zip(TABLE_HEADER, row_of(statistics_of(LogTopic.STATE, a_claim(), a_snapshot())), strict=True))

    # Then
    del row["BYTES"]
    assert row == {
        "PARTITION": "7",
        "RECORDS": "2",
        "CLAIMS": "1",
        "KEYS": "1",
        "FIRST-OFFSET": "100",
        "LAST-OFFSET": "101",
        "FIRST-TIMESTAMP": "2023-11-14T22:13:20.000Z",
        "LAST-TIMESTAMP": "2023-11-14T22:13:21.000Z",
        "TYPES": "KproxyClaim=1,ShareSnapshot=1",
    }


def test_nothing_counted_is_shown_as_nothing() -> None:
    assert row_of(PartitionStatistics(LogTopic.STATE, 0)) == [
        "0",
        "0",
        "0",
        "0",
        "0",
        "-",
        "-",
        "-",
        "-",
        "-",
    ]
