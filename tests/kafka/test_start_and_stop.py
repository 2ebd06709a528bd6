"""How a kproxy process ends: at once with a reason, or drained."""

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from kproxy.wire.messages.fetch_response import FetchResponse
from tests.real_kafka import accounts, administration
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.logged_errors import logged_errors
from tests.real_kafka.ports import LOOPBACK
from tests.real_kafka.raw_connection import RawConnection
from tests.real_kafka.raw_share_member import RawShareMember
from tests.real_kafka.share_endpoint import ShareEndpoint
from tests.real_kafka.share_members import MEMBER_KINDS, ShareMemberFactory

EXIT_FAILED: Final = 1
SERVICE_UNAVAILABLE: Final = 503
END_TIMEOUT_SECONDS: Final = 15.0
LONG_WAIT_MS: Final = 60_000
"""Of a fetch that waits for records: far longer than a drain may take."""
SHORT_WAIT_MS: Final = 5_000
"""Of a fetch that the broker answers while kproxy drains."""
DRAIN_SECONDS: Final = 10.0
"""`kproxy.shutdown.grace.ms` as it is by default."""
FETCH_VERSION: Final = 12


@pytest.fixture
def endpoint(reference_cluster: KafkaCluster) -> Iterator[ShareEndpoint]:
    """A kproxy that the test may stop."""
    with KproxyProcess(reference_cluster.bootstrap_servers) as kproxy:
        kproxy.wait_until_ready()
        yield ShareEndpoint(kproxy.bootstrap_servers, reference_cluster, kproxy)


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port on which somebody else listens."""
    with socket.create_server((LOOPBACK, 0)) as somebody_else:
        yield somebody_else.getsockname()[1]


@pytest.mark.parametrize(
    ("key", "value", "named_keys"),
    [
        ("kproxy.listen", "127.0.0.1:{port}", ["kproxy.listen"]),
        ("kproxy.admin.listener", "127.0.0.1:{port}", ["kproxy.admin.listener"]),
        ("kproxy.broker.port.map", "1={port}", ["kproxy.broker.port"]),
    ],
)
def test_a_port_in_use_ends_kproxy_with_status_1_and_a_message_that_names_it(
    reference_cluster: KafkaCluster, taken_port: int, key: str, value: str, named_keys: list[str]
) -> None:
    # Given
    settings = {key: value.format(port=taken_port)}

    # When
    with KproxyProcess(reference_cluster.bootstrap_servers, settings=settings) as kproxy:
        exit_status = kproxy.wait(timeout_seconds=END_TIMEOUT_SECONDS)

        # Then
        [message] = [line for line in kproxy.errors().splitlines() if line.startswith("kproxy: ")]
    assert exit_status == EXIT_FAILED
    assert f"127.0.0.1:{taken_port}" in message
    assert "address already in use" in message.lower()
    assert all(named in message for named in named_keys)


def test_the_start_line_says_where_to_connect_and_that_share_groups_are_on(endpoint: ShareEndpoint) -> None:
    # When
    line = _kproxy_of(endpoint).start_line()

    # Then
    assert f"bootstrap {endpoint.bootstrap_servers};" in line
    assert f"brokers 1 at {_kproxy_of(endpoint).broker_addresses[1]};" in line
    assert line.endswith("share groups on")


def test_kproxy_says_that_it_listens_before_it_is_ready_and_that_it_is_ready_when_share_groups_are(
    reference_cluster: KafkaCluster,
) -> None:
    # When
    with KproxyProcess(reference_cluster.bootstrap_servers) as kproxy:
        lines = [kproxy.next_line(timeout_seconds=END_TIMEOUT_SECONDS) for _ in range(2)]
        status = kproxy.status()

        # Then
        logged = [line["event"] for line in kproxy.log_events() if line["event"] in {"listening", "ready"}]
    assert [line.split()[2] for line in lines] == ["listening:", "ready:"]
    assert "share groups not yet (" in lines[0]
    assert "ready" not in lines[0]
    assert lines[1].endswith("share groups on")
    assert (status["state"], status["shareGroups"]["state"]) == ("ready", "on")
    assert logged == ["listening", "ready"]


@pytest.mark.parametrize("start_member", MEMBER_KINDS.values(), ids=MEMBER_KINDS)
def test_sigterm_ends_kproxy_in_time_with_status_0_while_a_share_consumer_polls(
    endpoint: ShareEndpoint, start_member: ShareMemberFactory
) -> None:
    # Given
    kproxy, topic, group = _kproxy_of(endpoint), endpoint.new_topic(), endpoint.new_group()
    administration.produce(endpoint.bootstrap_servers, topic, "abc")
    member = start_member(endpoint.bootstrap_servers, group=group, topics=[topic])
    assert accounts.receive_values(member, 3) == ["a", "b", "c"]
    with ThreadPoolExecutor() as threads:
        polled = threads.submit(member.poll, timeout_ms=3_000)

        # When
        began = time.monotonic()
        exit_status = kproxy.drain()

        # Then
        lasted_seconds = time.monotonic() - began
        records = polled.result()
    member.kill()
    assert exit_status == 0
    assert lasted_seconds < DRAIN_SECONDS
    assert records == []
    assert logged_errors(kproxy) == []


def test_sigterm_answers_a_parked_share_fetch_before_it_closes_the_connection(
    endpoint: ShareEndpoint,
) -> None:
    # Given
    kproxy, topic, group = _kproxy_of(endpoint), endpoint.new_topic(), endpoint.new_group()
    with RawShareMember(kproxy.broker_addresses[1], group=group, topic=topic) as member:
        member.join()
        answered = member.fetch_until_named(max_wait_ms=1_000)
        member.send_fetch((), max_wait_ms=LONG_WAIT_MS)
        kproxy.wait_until(lambda: _counted_requests(kproxy, "ShareFetch") == answered + 1)

        # When
        kproxy.terminate()

        # Then
        fetched = member.receive_fetched()
        assert member.is_closed_by_peer(timeout_seconds=DRAIN_SECONDS)
    assert kproxy.wait(timeout_seconds=END_TIMEOUT_SECONDS) == 0
    assert fetched == []


def test_sigterm_lets_the_broker_answer_what_was_asked_before(endpoint: ShareEndpoint) -> None:
    # Given
    kproxy, topic = _kproxy_of(endpoint), endpoint.new_topic()
    administration.produce(endpoint.bootstrap_servers, topic, "a")
    fetches_before = _counted_requests(kproxy, "Fetch")
    with RawConnection(kproxy.broker_addresses[1]) as connection:
        _send_waiting_fetch(connection, topic)
        kproxy.wait_until(lambda: _counted_requests(kproxy, "Fetch") > fetches_before)

        # When
        kproxy.terminate()

        # Then
        answer = connection.receive_response(ApiKey.FETCH, FETCH_VERSION, FetchResponse)
        assert connection.is_closed_by_peer()
    assert kproxy.wait(timeout_seconds=END_TIMEOUT_SECONDS) == 0
    assert answer.responses[0].partitions[0].error_code == ErrorCode.NONE


def test_a_draining_kproxy_is_not_ready_and_accepts_nobody(endpoint: ShareEndpoint) -> None:
    # Given
    kproxy, topic = _kproxy_of(endpoint), endpoint.new_topic()
    administration.produce(endpoint.bootstrap_servers, topic, "a")
    fetches_before = _counted_requests(kproxy, "Fetch")
    with RawConnection(kproxy.broker_addresses[1]) as connection:
        _send_waiting_fetch(connection, topic, max_wait_ms=LONG_WAIT_MS)
        kproxy.wait_until(lambda: _counted_requests(kproxy, "Fetch") > fetches_before)

        # When
        kproxy.terminate()

        # Then
        kproxy.wait_until(lambda: kproxy.readiness().status == SERVICE_UNAVAILABLE)
        unmet = [item["check"] for item in kproxy.readiness().items if not item["passed"]]
        is_alive = kproxy.is_alive()
        with pytest.raises(ConnectionRefusedError):
            RawConnection(kproxy.bootstrap_servers)
    assert unmet == ["draining"]
    assert is_alive


def test_a_second_sigterm_cuts_a_drain_short_which_can_be_asked_about_until_then(
    endpoint: ShareEndpoint,
) -> None:
    # Given
    kproxy, topic = _kproxy_of(endpoint), endpoint.new_topic()
    administration.produce(endpoint.bootstrap_servers, topic, "a")
    fetches_before = _counted_requests(kproxy, "Fetch")
    with RawConnection(kproxy.broker_addresses[1]) as connection:
        _send_waiting_fetch(connection, topic, max_wait_ms=LONG_WAIT_MS)
        kproxy.wait_until(lambda: _counted_requests(kproxy, "Fetch") > fetches_before)
        kproxy.terminate()
        kproxy.wait_until(lambda: kproxy.readiness().status == SERVICE_UNAVAILABLE)
        status = kproxy.status()
        began = time.monotonic()

        # When
        kproxy.terminate()

        # Then
        exit_status = kproxy.wait(timeout_seconds=END_TIMEOUT_SECONDS)
        lasted_seconds = time.monotonic() - began
    assert status["state"] == "draining"
    assert exit_status == 0
    assert lasted_seconds < DRAIN_SECONDS / 2


def _kproxy_of(endpoint: ShareEndpoint) -> KproxyProcess:
    assert endpoint.kproxy is not None
    return endpoint.kproxy


def _send_waiting_fetch(connection: RawConnection, topic: str, *, max_wait_ms: int = SHORT_WAIT_MS) -> None:
    """Send a Fetch behind the first record, which the broker answers, without records, only some time later."""
    partition = FetchPartition(fetch_offset=1, partition_max_bytes=1000)
    wanted = FetchTopic(topic=topic, partitions=[partition])
    request = FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, topics=[wanted])
    connection.send_request(ApiKey.FETCH, FETCH_VERSION, request)


def _counted_requests(kproxy: KproxyProcess, api: str) -> float:
    return kproxy.metrics().total("kproxy_requests_total", api=api)
