"""What bad input gets: a closed connection, a line in the log, a counter, and nothing lost for others."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.metadata_request import MetadataRequest
from kproxy.wire.messages.metadata_response import MetadataResponse
from tests.real_kafka import administration
from tests.real_kafka.accounts import RecordId, values_by_id
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.raw_connection import RawConnection
from tests.real_kafka.raw_share_member import RawShareMember
from tests.real_kafka.share_member import AcknowledgeType, ReceivedRecord, ShareMember
from tests.real_kafka.share_members import ConfluentShareMember

FRAME_DEADLINE_MS: Final = 1_000
ACCEPT: Final = 1
MAX_REQUEST_BYTES: Final = 104_857_600
API_VERSIONS_3: Final = b"\x00\x12\x00\x03"
TLS_CLIENT_HELLO: Final = bytes.fromhex("16030100c4010000c00303") + bytes(190)


@dataclass(frozen=True, slots=True)
class BadInput:
    """Bytes that no client of Kafka's sends, and the reason that kproxy has to give."""

    sent: bytes
    reason: str


def frame(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content


def request_head(api_key: int, api_version: int) -> bytes:
    """Key, version, correlation id 7, no client id."""
    return api_key.to_bytes(2, "big") + api_version.to_bytes(2, "big") + b"\x00\x00\x00\x07\xff\xff"


BAD_INPUTS: Final = {
    "garbage": BadInput(b"\xfa\xce" * 40, "frame_length_negative"),
    "garbage-text": BadInput(b"what is the time, please?\r\n", "frame_too_large"),
    "tls-hello": BadInput(TLS_CLIENT_HELLO, "tls_on_plaintext"),
    "http-get": BadInput(b"GET /metrics HTTP/1.1\r\nHost: kproxy\r\n\r\n", "http_on_kafka_port"),
    "negative-length": BadInput(b"\xff\xff\xff\xff" + API_VERSIONS_3, "frame_length_negative"),
    "tiny-length": BadInput(b"\x00\x00\x00\x04" + API_VERSIONS_3, "frame_too_short"),
    "zero-length": BadInput(bytes(12), "frame_too_short"),
    "oversized-length": BadInput(
        (MAX_REQUEST_BYTES + 1).to_bytes(4, "big") + request_head(ApiKey.PRODUCE, 9), "frame_too_large"
    ),
    "stalled-head": BadInput(b"\x00\x00\x00", "frame_stalled"),
    "stalled-body": BadInput(b"\x00\x00\x01\x00" + request_head(ApiKey.METADATA, 9), "frame_stalled"),
    "stalled-served-body": BadInput(
        b"\x00\x00\x01\x00" + request_head(ApiKey.SHARE_FETCH, 1), "frame_stalled"
    ),
    "unknown-key": BadInput(frame(request_head(1234, 0)), "unknown_api_key"),
    "broker-to-broker-key": BadInput(frame(request_head(ApiKey.LEADER_AND_ISR, 4)), "unknown_api_key"),
    "unadvertised-version": BadInput(frame(request_head(ApiKey.FETCH, 30)), "version_not_advertised"),
    "unadvertised-share-version": BadInput(
        frame(request_head(ApiKey.SHARE_FETCH, 0)), "version_not_advertised"
    ),
    "malformed-body": BadInput(
        frame(request_head(ApiKey.SHARE_GROUP_HEARTBEAT, 1) + b"\x00\xff\xff"), "malformed_request"
    ),
    "array-longer-than-its-frame": BadInput(
        frame(request_head(ApiKey.SHARE_FETCH, 1) + b"\x00\x02g\x02m" + bytes(24) + b"\xff\xff\xff\xff\x07"),
        "malformed_request",
    ),
}


@pytest.fixture(scope="module")
def kproxy(reference_cluster: KafkaCluster) -> Iterator[KproxyProcess]:
    settings = {"kproxy.frame.deadline.ms": FRAME_DEADLINE_MS}
    with KproxyProcess(reference_cluster.bootstrap_servers, settings=settings) as kproxy:
        kproxy.wait_until_ready()
        yield kproxy


@pytest.mark.parametrize("bad_input", BAD_INPUTS.values(), ids=BAD_INPUTS)
def test_bad_input_closes_its_connection_with_a_log_line_and_a_counter(
    kproxy: KproxyProcess, bad_input: BadInput
) -> None:
    # Given
    counted_before = _counted(kproxy, bad_input.reason)
    with RawConnection(kproxy.bootstrap_servers) as connection:
        # When
        connection.send_bytes(bad_input.sent)

        # Then
        assert connection.is_closed_by_peer()
        peer = connection.own_address
    [line] = kproxy.log_events("connection_refused", peer=peer)
    assert line["reason"] == bad_input.reason
    assert line["side"] == "client"
    assert line["err"] != ""
    assert _counted(kproxy, bad_input.reason) == counted_before + 1


def test_a_share_consumer_is_not_disturbed_by_bad_input_of_others(kproxy: KproxyProcess) -> None:
    # Given
    bootstrap_servers = kproxy.bootstrap_servers
    topic, group = _topic_and_group(kproxy)
    with (
        ConfluentShareMember(bootstrap_servers, group=group, topics=[topic]) as member,
        _consuming(member) as received,
    ):
        produced: dict[RecordId, str] = {}

        # When
        for round_number, bad_input in enumerate(BAD_INPUTS.values()):
            with RawConnection(kproxy.broker_addresses[1]) as connection:
                connection.send_bytes(bad_input.sent)
                [offset] = administration.produce(bootstrap_servers, topic, [f"round {round_number}"])
                produced[0, offset] = f"round {round_number}"
                assert connection.is_closed_by_peer()

        # Then
        kproxy.wait_until(lambda: len(received) >= len(produced))
    assert values_by_id(received) == produced
    assert {record.delivery_count for record in received} == {1}
    assert {told.error for told in member.answered} == {None}


def test_an_api_versions_request_that_is_too_new_is_answered_in_version_0_with_error_35(
    kproxy: KproxyProcess,
) -> None:
    # Given
    with RawConnection(kproxy.bootstrap_servers) as connection:
        # When
        connection.send_frame(request_head(ApiKey.API_VERSIONS, 99) + b"\x00")

        # Then
        size = int.from_bytes(connection.receive_bytes(4), "big")
        answer = connection.receive_bytes(size)
    assert answer[:4] == b"\x00\x00\x00\x07"
    assert int.from_bytes(answer[4:6], "big") == ErrorCode.UNSUPPORTED_VERSION


def test_what_was_asked_before_bad_input_is_answered(kproxy: KproxyProcess) -> None:
    # Given
    with RawConnection(kproxy.bootstrap_servers) as connection:
        asked = connection.ask(ApiKey.METADATA, 12, MetadataRequest(topics=[]), MetadataResponse)

        # When
        connection.send_bytes(frame(request_head(1234, 0)))

        # Then
        assert connection.is_closed_by_peer()
    assert [broker.node_id for broker in asked.brokers] == [1]


def test_an_acknowledgement_for_records_that_the_member_does_not_hold_is_refused(
    kproxy: KproxyProcess,
) -> None:
    # Given
    topic, group = _topic_and_group(kproxy)
    administration.produce(kproxy.bootstrap_servers, topic, "abc")
    address = kproxy.broker_addresses[1]
    with (
        ConfluentShareMember(kproxy.bootstrap_servers, group=group, topics=[topic]) as holder,
        RawShareMember(address, group=group, topic=topic) as other,
    ):
        held = holder.poll_until_records()
        holder.acknowledge_all(AcknowledgeType.ACCEPT)
        other.join()
        fetched = other.fetch()

        # When
        error_code = other.acknowledge(0, 2, ACCEPT)

        # Then
        outcomes = holder.commit()
    assert values_by_id(held) == {(0, 0): "a", (0, 1): "b", (0, 2): "c"}
    assert [partition.acquired_records for partition in fetched] == [[]]
    assert error_code == ErrorCode.INVALID_RECORD_STATE
    assert [outcome.error for outcome in outcomes] == [None]


def _topic_and_group(kproxy: KproxyProcess) -> tuple[str, str]:
    topic = administration.create_topic(kproxy.bootstrap_servers, unique_name("topic"))
    group = unique_name("group")
    administration.set_group_settings(
        kproxy.bootstrap_servers, group, {"share.auto.offset.reset": "earliest"}
    )
    return topic, group


@contextmanager
def _consuming(member: ShareMember) -> Iterator[list[ReceivedRecord]]:
    """Let `member` accept whatever comes until the block ends; the records, as they come."""
    received: list[ReceivedRecord] = []
    is_over = threading.Event()

    def consume() -> None:
        while not is_over.is_set():
            records = member.poll()
            member.acknowledge_all(AcknowledgeType.ACCEPT)
            member.commit()
            received.extend(records)

    with ThreadPoolExecutor() as threads:
        loop = threads.submit(consume)
        try:
            yield received
        finally:
            is_over.set()
    loop.result()


def _counted(kproxy: KproxyProcess, reason: str) -> float:
    return kproxy.metrics().value("kproxy_connection_errors_total", side="client", reason=reason)
