"""Requests sent as soon as kproxy's port takes connections: at a first start, and at a restart."""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Final

from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicId
from kproxy.wire import codecs
from kproxy.wire.codecs import Message
from tests.real_kafka import administration
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.logged_errors import logged_errors
from tests.real_kafka.mortal_kproxy import MortalKproxy
from tests.real_kafka.raw_connection import LENGTH_BYTES, RawConnection
from tests.real_kafka.raw_share_member import RawShareMember
from tests.real_kafka.steady_production import SteadyProduction
from tests.worlds.state_log_requests import NOT_YET, error_codes, newest_version, requests_about

CONNECT_SECONDS: Final = 10.0
FETCH_WAIT_MS: Final = 10_000
"""Longer than kproxy takes until it knows the group's state; records come all the time, and end the wait then."""


def test_what_is_asked_in_the_first_moment_of_a_first_start_and_of_a_restart_is_answered(
    reference_cluster: KafkaCluster,
) -> None:
    # Given
    servers = reference_cluster.bootstrap_servers
    topic = administration.create_topic(servers, unique_name("moment"))
    requests = _requests(reference_cluster, topic)
    settings = {"kproxy.share.coordinator.enable": "true"}
    with (
        SteadyProduction(servers, [(topic, 0)]),
        MortalKproxy(servers, settings=settings) as kproxy,
    ):
        # When
        kproxy.begin_life()
        at_first_start = _ask_at_once(kproxy, requests)
        kproxy.wait_until_ready()
        kproxy.end_life()
        kproxy.begin_life()
        at_restart = _ask_at_once(kproxy, requests)

        # Then
        assert at_first_start == dict.fromkeys(requests, frozenset())
        assert at_restart == dict.fromkeys(requests, frozenset())
        assert logged_errors(kproxy) == []


def _requests(cluster: KafkaCluster, topic: str) -> Mapping[str, Message]:
    group = "early"
    with RawShareMember(cluster.bootstrap_servers, group=group, topic=topic) as member:
        key = SharePartitionKey(GroupId(group), TopicId(member.topic_id), 0)
    return requests_about(key, topic=topic, max_wait_ms=FETCH_WAIT_MS)


def _ask_at_once(kproxy: MortalKproxy, requests: Mapping[str, Message]) -> dict[str, frozenset[int]]:
    """Send all requests, each on a connection of its own, as soon as there is a port; what was refused as too early."""
    with ExitStack() as stack:
        connections = {name: stack.enter_context(_connected(kproxy)) for name in requests}
        for name, request in requests.items():
            connections[name].send_request(*newest_version(request), request)
        return {
            name: frozenset(_answered(connections[name], request) & NOT_YET)
            for name, request in requests.items()
        }


def _connected(kproxy: MortalKproxy) -> RawConnection:
    """A connection, made in the moment in which that is possible."""
    deadline = time.monotonic() + CONNECT_SECONDS
    while True:
        try:
            return RawConnection(kproxy.bootstrap_servers)
        except ConnectionRefusedError:
            assert time.monotonic() < deadline


def _answered(connection: RawConnection, request: Message) -> set[int]:
    size = int.from_bytes(connection.receive_bytes(LENGTH_BYTES), "big")
    _, response = codecs.decode_response(*newest_version(request), connection.receive_bytes(size))
    return error_codes(response)
