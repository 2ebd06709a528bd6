"""Records of both topics as lines of a dump, and back."""

import json
from base64 import b64decode
from dataclasses import replace

import pytest

from kproxy.clients.dump_format import json_of, record_of
from kproxy.clients.failures import WrongDumpLine
from kproxy.clients.log_lines import KEY_CLASSES, LogLine, LogTopic, line_of
from kproxy.errors import ExitCode
from kproxy.share.identifiers import GroupId
from kproxy.share.share_group_image import StatePartitions
from kproxy.statelog.claims import Claim
from kproxy.statelog.group_parts import StatePartitionMetadata
from kproxy.statelog.group_records import (
    GroupConfigs,
    RecoveryPoint,
    SignOfLife,
    StateTopicFacts,
    encode_group_record,
    encode_group_tombstone,
)
from kproxy.statelog.state_records import decode_state_record
from kproxy.wire.records import Record
from tests.in_memory.written_log import ALICE, ORDERS, a_claim, a_snapshot, a_tombstone, an_update

KEY_DATA = {"groupId": "workers", "topicId": "dG9waWMtaWQtb3JkZXJzLg", "partition": 1}
CLAIM_HEADER = {"key": "kproxy.claim", "value": "AAAAAAAAAAA="}


def state_line(record: Record) -> LogLine:
    return line_of(LogTopic.STATE, "states", 7, replace(record, offset=12, timestamp_ms=1_700_000_000_000))


def group_line(record: Record) -> LogLine:
    return line_of(LogTopic.GROUPS, "groups", 7, replace(record, offset=12, timestamp_ms=1_700_000_000_000))


def test_an_update_is_shown_with_kafkas_names_and_with_who_acted() -> None:
    # When
    shown = json_of(state_line(an_update()))

    # Then
    assert shown == {
        "topic": "states",
        "partition": 7,
        "offset": 12,
        "timestamp": 1_700_000_000_000,
        "claimEpoch": 0,
        "headers": [
            CLAIM_HEADER,
            {
                "key": "kproxy.actor",
                "value": {
                    "version": 1,
                    "cause": "acknowledge",
                    "acknowledgeType": "accept",
                    "end": "accept",
                    "memberId": "alice",
                    "clientId": "client-1",
                    "clientHost": "/10.0.0.7",
                    "offsetRanges": [
                        {"firstOffset": 100, "lastOffset": 104},
                        {"firstOffset": 110, "lastOffset": 110},
                    ],
                },
            },
        ],
        "key": {"type": 1, "data": KEY_DATA},
        "value": {
            "version": 0,
            "data": {
                "snapshotEpoch": 3,
                "leaderEpoch": 5,
                "startOffset": 100,
                "deliveryCompleteCount": 6,
                "stateBatches": [
                    {"firstOffset": 100, "lastOffset": 104, "deliveryState": 2, "deliveryCount": 1}
                ],
            },
        },
    }


def test_a_snapshot_is_shown_whole() -> None:
    # When
    shown = json_of(state_line(a_snapshot()))

    # Then
    assert shown["key"] == {"type": 0, "data": KEY_DATA}
    assert shown["value"] == {
        "version": 0,
        "data": {
            "snapshotEpoch": 3,
            "stateEpoch": 2,
            "leaderEpoch": 5,
            "startOffset": 100,
            "deliveryCompleteCount": 0,
            "createTimestamp": 1_700_000_000_000,
            "writeTimestamp": 1_700_000_000_001,
            "stateBatches": [],
        },
    }


def test_a_tombstone_has_no_value() -> None:
    # When
    shown = json_of(state_line(a_tombstone()))

    # Then
    assert shown["key"] == {"type": 0, "data": KEY_DATA}
    assert shown["value"] is None
    assert "error" not in shown


def test_a_claim_is_shown_and_has_no_claim_epoch_but_its_offset() -> None:
    # When
    line = state_line(a_claim("kproxy at host-1", 17, "a fleet"))

    # Then
    shown = json_of(line)
    assert line.is_claim
    assert shown["claimEpoch"] is None
    assert shown["headers"] == []
    assert shown["key"] == {"type": 27504, "data": {}}
    assert shown["value"] == {
        "version": 0,
        "data": {"owner": "kproxy at host-1", "formatVersion": 1, "mapEpoch": 17, "fleetGroup": "a fleet"},
    }


@pytest.mark.parametrize(
    ("record", "record_type", "key", "value"),
    [
        (
            encode_group_record(GroupConfigs(GroupId("g"), {"share.x": "1"}), claim_epoch=3),
            "KproxyGroupConfigs",
            {"groupId": "g"},
            {"configs": [{"key": "share.x", "value": "1"}]},
        ),
        (
            encode_group_record(
                RecoveryPoint(41, 57, SignOfLife("me", 1000, False, "a fleet")), claim_epoch=3
            ),
            "KproxyRecoveryPoint",
            {},
            {
                "offset": 41,
                "appliedOffset": 57,
                "owner": "me",
                "aliveAtMs": 1000,
                "hasLeft": False,
                "fleetGroup": "a fleet",
            },
        ),
        (
            encode_group_record(StateTopicFacts(50, 1), claim_epoch=3),
            "KproxyStateTopicFacts",
            {},
            {"partitionCount": 50, "formatVersion": 1},
        ),
        (
            encode_group_record(Claim("me", 2, 17, "a fleet"), claim_epoch=None),
            "KproxyClaim",
            {},
            {"owner": "me", "formatVersion": 2, "mapEpoch": 17, "fleetGroup": "a fleet"},
        ),
    ],
    ids=["configs", "recovery-point", "facts", "claim"],
)
def test_records_of_the_groups_topic_are_shown_likewise(
    record: Record, record_type: str, key: dict[str, object], value: dict[str, object]
) -> None:
    # When
    line = group_line(record)

    # Then
    shown = json_of(line)
    assert line.record_type == record_type
    assert isinstance(shown["key"], dict)
    assert shown["key"]["data"] == key
    assert shown["value"] == {"version": 0, "data": value}


def test_a_tombstone_of_the_groups_topic_has_the_key_that_is_gone() -> None:
    # Given
    configs = encode_group_record(GroupConfigs(GroupId("g"), {}), claim_epoch=3)
    assert configs.key is not None

    # When
    line = group_line(encode_group_tombstone(configs.key, claim_epoch=3))

    # Then
    assert line.record_type == "Tombstone"
    assert json_of(line)["key"] == {"type": 27505, "data": {"groupId": "g"}}


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (Record(b"\x00\x09rest", b"value"), "unknown record type 9"),
        (Record(None, None), "no key"),
        (replace(an_update(), value=b"\x00\x00\x07"), ""),
        (replace(an_update(), headers=(("kproxy.claim", b"short"),)), "claim header"),
    ],
    ids=["type", "key", "value", "claim"],
)
def test_what_cannot_be_decoded_is_shown_with_the_reason_and_its_bytes(record: Record, reason: str) -> None:
    # When
    line = state_line(record)

    # Then
    shown = json_of(line)
    assert line.record_type == "Undecodable"
    assert shown["key"] is None
    assert shown["value"] is None
    assert shown["error"]
    assert reason in str(shown["error"])
    assert shown["keyBytes"] is None or b64decode(str(shown["keyBytes"])) == record.key
    assert shown["valueBytes"] is None or b64decode(str(shown["valueBytes"])) == record.value


def test_a_header_that_names_no_actor_is_shown_as_it_is() -> None:
    # Given
    record = replace(a_tombstone(), headers=(("kproxy.actor", b"nobody"), ("x", None)))

    # When
    shown = json_of(state_line(record))

    # Then
    assert shown["headers"] == [
        {"key": "kproxy.actor", "value": "bm9ib2R5", "error": "b'nobody' names no actor"},
        {"key": "x", "value": None},
    ]


def placed(record: Record) -> Record:
    return replace(record, offset=12, timestamp_ms=1_700_000_000_000)


@pytest.mark.parametrize(
    "record", [a_claim(), a_snapshot(), an_update(), a_tombstone(), Record(b"\x00\x09", b"?")]
)
def test_a_line_of_a_dump_is_the_record_again(record: Record) -> None:
    # When
    read = record_of(json.dumps(json_of(state_line(record))), KEY_CLASSES)

    # Then
    assert read == ("states", 7, placed(record))


def test_a_line_of_an_earlier_kproxy_that_knew_no_maps_is_read_all_the_same() -> None:
    # Given
    shown = json_of(state_line(a_claim("kproxy at host-1", 17, "a fleet")))
    value = shown["value"]
    assert isinstance(value, dict)
    del value["data"]["mapEpoch"], value["data"]["fleetGroup"]

    # When
    read = record_of(json.dumps(shown), KEY_CLASSES)

    # Then
    assert read is not None
    assert decode_state_record(read[2]).record == Claim("kproxy at host-1", 1)


def test_a_line_without_a_field_that_every_kproxy_wrote_is_refused() -> None:
    # Given
    shown = json_of(state_line(a_claim()))
    value = shown["value"]
    assert isinstance(value, dict)
    del value["data"]["owner"]

    # When / Then
    with pytest.raises(WrongDumpLine, match="KeyError: 'owner'"):
        record_of(json.dumps(shown), KEY_CLASSES)


@pytest.mark.parametrize(
    "record",
    [
        encode_group_record(GroupConfigs(GroupId("g"), {"share.x": "1"}), claim_epoch=3),
        encode_group_record(RecoveryPoint(41, 57, SignOfLife("me", 1000)), claim_epoch=3),
        encode_group_record(StateTopicFacts(50, 1), claim_epoch=3),
        encode_group_record(
            StatePartitionMetadata(
                GroupId("g"), {}, {ORDERS: StatePartitions("orders", frozenset({0, 1}))}, {}
            ),
            claim_epoch=4,
        ),
    ],
    ids=["configs", "recovery-point", "facts", "topics"],
)
def test_a_line_of_the_groups_topic_is_the_record_again(record: Record) -> None:
    # When
    read = record_of(json.dumps(json_of(group_line(record))), KEY_CLASSES)

    # Then
    assert read == ("groups", 7, placed(record))


def test_records_of_other_types_than_are_asked_for_are_left_out() -> None:
    # Given
    update, unknown = (
        json.dumps(json_of(state_line(record))) for record in (an_update(), Record(None, b"?"))
    )

    # When
    read = [record_of(line, {0}) is not None for line in (update, unknown)]

    # Then
    assert read == [False, True]


def test_a_line_that_was_printed_before_headers_had_versions_is_the_first_form_again() -> None:
    # Given
    shown = json.loads(json.dumps(json_of(state_line(an_update()))))
    for field in ("version", "acknowledgeType", "end"):
        del shown["headers"][1]["value"][field]

    # When
    read = record_of(json.dumps(shown), KEY_CLASSES)

    # Then
    assert read is not None
    assert decode_state_record(read[2]).actors == (replace(ALICE, acknowledge_type=None, version=0),)


@pytest.mark.parametrize("line", ["no JSON", "{}", "[]", '{"key": {"type": 1}, "value": null}'])
def test_text_that_is_no_line_of_a_dump_is_wrong_usage(line: str) -> None:
    # When
    with pytest.raises(WrongDumpLine, match="no line of kproxy log dump") as refusal:
        record_of(line, KEY_CLASSES)

    # Then
    assert refusal.value.exit_code is ExitCode.USAGE
