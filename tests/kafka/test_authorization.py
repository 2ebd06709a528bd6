"""Who may do what to share groups: kproxy and Kafka's own share groups under the same access control lists.

Clients are told apart by the loopback address that they connect from, which access control lists may name: everybody is
User:ANONYMOUS. kproxy itself is at the first of them, like the brokers.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from kproxy.error_codes import ErrorCode
from kproxy.interception.closed_groups import GROUP_KEYS
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.api_versions_response import ApiVersionsResponse
from kproxy.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kproxy.wire.messages.metadata_response import MetadataResponse
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from tests.kafka import closed_topic_requests
from tests.kafka.authorization_script import LEAVE, OPEN, Client, Outcome, denials_in, other_group
from tests.real_kafka import administration
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess, state_topic_settings
from tests.real_kafka.node_settings import Settings
from tests.real_kafka.raw_connection import RawConnection

AUTHORIZER: Final[Settings] = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    # A broker has to begin before anybody can make lists.
    "allow.everyone.if.no.acl.found": "true",
    "group.share.heartbeat.interval.ms": 500,
    "group.share.min.heartbeat.interval.ms": 500,
    "group.share.assignment.interval.ms": 0,
}
KPROXY_SETTINGS: Final[Settings] = {
    "allow.everyone.if.no.acl.found": "true",
    "kproxy.authorizer.refresh.ms": 100,
    "kproxy.share.coordinator.enable": "true",
    "kproxy.share.heartbeat.max.wait.ms": 0,
    "group.share.heartbeat.interval.ms": 500,
    "group.share.min.heartbeat.interval.ms": 500,
    "group.share.assignment.interval.ms": 0,
}
ADMINISTRATOR: Final = "127.0.0.1"
COMMITS: Final = frozenset({ApiKey.OFFSET_COMMIT, ApiKey.TXN_OFFSET_COMMIT})
"""What is answered about each partition that it names."""

TOPICS: Final = ("orders", "payments")
CLUSTER: Final = ("kafka-cluster", ResourceType.BROKER, ResourcePatternType.LITERAL)
ORDERS: Final = ("orders", ResourceType.TOPIC, ResourcePatternType.LITERAL)
PAYMENTS: Final = ("payments", ResourceType.TOPIC, ResourcePatternType.LITERAL)
EVERY_TOPIC: Final = ("*", ResourceType.TOPIC, ResourcePatternType.LITERAL)
EVERY_GROUP: Final = ("*", ResourceType.GROUP, ResourcePatternType.LITERAL)
OUR_GROUPS: Final = ("team-", ResourceType.GROUP, ResourcePatternType.PREFIXED)

ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
Rule = tuple[tuple[str, ResourceType, ResourcePatternType], AclOperation, AclPermissionType]

PRINCIPALS: Final[dict[str, tuple[str, list[Rule]]]] = {
    "who may nothing": ("127.0.0.2", []),
    "a member of one topic": (
        "127.0.0.3",
        [(OUR_GROUPS, AclOperation.READ, ALLOW), (ORDERS, AclOperation.READ, ALLOW)],
    ),
    "a member of every topic": (
        "127.0.0.4",
        [(OUR_GROUPS, AclOperation.READ, ALLOW), (EVERY_TOPIC, AclOperation.READ, ALLOW)],
    ),
    "who looks on": (
        "127.0.0.5",
        [(EVERY_GROUP, AclOperation.DESCRIBE, ALLOW), (ORDERS, AclOperation.DESCRIBE, ALLOW)],
    ),
    "who may read groups and no topic": ("127.0.0.6", [(OUR_GROUPS, AclOperation.READ, ALLOW)]),
    "who may all but": (
        "127.0.0.7",
        [
            (EVERY_GROUP, AclOperation.ALL, ALLOW),
            (EVERY_TOPIC, AclOperation.ALL, ALLOW),
            (OUR_GROUPS, AclOperation.DELETE, DENY),
            (PAYMENTS, AclOperation.READ, DENY),
        ],
    ),
    "a broker that configures": (
        "127.0.0.8",
        [
            (CLUSTER, AclOperation.CLUSTER_ACTION, ALLOW),
            (CLUSTER, AclOperation.DESCRIBE, ALLOW),
            (EVERY_GROUP, AclOperation.ALTER_CONFIGS, ALLOW),
        ],
    ),
    "who deletes": (
        "127.0.0.9",
        [
            (EVERY_GROUP, AclOperation.DELETE, ALLOW),
            (PAYMENTS, AclOperation.READ, ALLOW),
            (CLUSTER, AclOperation.DESCRIBE_CONFIGS, ALLOW),
        ],
    ),
    "who may everything": (ADMINISTRATOR, []),
}


@dataclass(slots=True)
class Target:
    """Kafka's own share groups, or kproxy's, and the topics there."""

    address: str
    administration: AdminClient
    topics: dict[str, bytes]
    state_topic: str = "__share_group_state"

    def client(self, own_host: str, group: str) -> Client:
        return Client(self.address, own_host, group, self.topics)


def binding(host: str, rule: Rule) -> AclBinding:
    (name, kind, pattern), operation, permission = rule
    return AclBinding(kind, name, pattern, "User:ANONYMOUS", host, operation, permission)


def begin(cluster: KafkaCluster) -> AdminClient:
    """Make the lists and the topics; the administrator's own rights first, for lists hold as soon as there is one."""
    client = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    own = [
        binding(ADMINISTRATOR, (what, AclOperation.ALL, ALLOW))
        for what in (CLUSTER, EVERY_TOPIC, EVERY_GROUP)
    ]
    others = [binding(host, rule) for host, rules in PRINCIPALS.values() for rule in rules]
    for made in client.create_acls([*own, *others]).values():
        made.result(30)
    for topic in TOPICS:
        administration.create_topic(cluster.bootstrap_servers, topic)
        administration.produce(cluster.bootstrap_servers, topic, "abc")
    return client


def topic_ids(address: str, *names: str) -> dict[str, bytes]:
    with RawConnection(address) as connection:
        asked = MetadataRequest([MetadataRequestTopic(name=name) for name in names or TOPICS])
        answer = connection.ask(3, 12, asked, MetadataResponse)
    return {str(topic.name): topic.topic_id for topic in answer.topics}


@pytest.fixture(scope="module")
def targets() -> Iterator[tuple[Target, Target]]:
    """Kafka, and kproxy in front of a Kafka without share groups."""
    with ExitStack() as owned:
        reference = KafkaCluster(share_groups=True, broker_settings=AUTHORIZER)
        backing = KafkaCluster(broker_settings=AUTHORIZER)
        for cluster in (reference, backing):
            owned.enter_context(cluster)
        clients = [begin(cluster) for cluster in (reference, backing)]
        settings = {**state_topic_settings(), **KPROXY_SETTINGS}
        kproxy = owned.enter_context(KproxyProcess(backing.bootstrap_servers, settings=settings))
        kproxy.wait_until_ready()
        addresses = (reference.broker_address(1), kproxy.broker_addresses[1])
        first, second = (
            Target(address, client, topic_ids(address))
            for address, client in zip(addresses, clients, strict=True)
        )
        second.state_topic = str(settings["kproxy.state.topic.name"])
        yield first, second


def played(target: Target, host: str, group: str) -> Outcome:
    """The whole script, with two groups that an administrator made and empties half way."""
    administrators = [target.client(ADMINISTRATOR, name) for name in (group, other_group(group))]
    for administrator in administrators:
        administrator.keep("keeper")
    client = target.client(host, group)
    client.about_members()
    client.about_states()
    client.about_configs()
    for administrator in administrators:
        administrator.heartbeat("leave", "keeper", LEAVE)
    client.about_empty_group()
    for each in (client, *administrators):
        each.close()
    return client.outcome


@pytest.mark.parametrize("principal", PRINCIPALS)
def test_each_request_is_allowed_or_denied_part_by_part_as_by_the_reference(
    targets: tuple[Target, Target], principal: str
) -> None:
    # Given
    host, _ = PRINCIPALS[principal]
    group = f"team-{host}"

    # When
    expected, found = (played(target, host, group) for target in targets)

    # Then
    assert found == expected
    is_denied_anything = any(isinstance(value, frozenset) and value for value in expected.values())
    assert is_denied_anything is (host != ADMINISTRATOR)


def test_a_right_that_is_taken_away_ends_what_an_open_session_is_given(
    targets: tuple[Target, Target],
) -> None:
    """A fetch that waits for records looks again when they come."""
    # Given: a member that has read all there is
    _, kproxy = targets
    host, group = "127.0.0.10", "team-taken-away"
    rules: list[Rule] = [(OUR_GROUPS, AclOperation.READ, ALLOW), (ORDERS, AclOperation.READ, ALLOW)]
    for made in kproxy.administration.create_acls([binding(host, rule) for rule in rules]).values():
        made.result(30)
    client = kproxy.client(host, group)
    client.topics = {"orders": kproxy.topics["orders"]}
    deadline = time.monotonic() + 30
    while client.heartbeat("join", "fetcher", 0, "orders").error_code != ErrorCode.NONE:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    epoch = OPEN
    opened = client.fetch("open", epoch, max_wait_ms=500)
    assert isinstance(opened, ShareFetchResponse)
    assert opened.error_code == ErrorCode.NONE

    # When
    nothing_left = AclBindingFilter(
        ResourceType.TOPIC,
        "orders",
        ResourcePatternType.LITERAL,
        "User:ANONYMOUS",
        host,
        AclOperation.READ,
        ALLOW,
    )
    for deleted in kproxy.administration.delete_acls([nothing_left]).values():
        deleted.result(30)

    # Then
    while not client.outcome["fetch"] if "fetch" in client.outcome else True:
        assert time.monotonic() < deadline
        epoch += 1
        answer = client.fetch("fetch", epoch, max_wait_ms=100)
        assert isinstance(answer, ShareFetchResponse)
        assert answer.error_code == ErrorCode.NONE
    assert client.outcome["fetch"] == {("orders", "0", "error_code", "TOPIC_AUTHORIZATION_FAILED")}
    client.close()


def test_a_fetch_that_waits_is_given_no_records_once_its_group_was_taken_away(
    targets: tuple[Target, Target],
) -> None:
    # Given: a fetch that waits for records
    _, kproxy = targets
    host, group = "127.0.0.11", "parked"
    of_group = (group, ResourceType.GROUP, ResourcePatternType.LITERAL)
    rules: list[Rule] = [(of_group, AclOperation.READ, ALLOW), (ORDERS, AclOperation.READ, ALLOW)]
    for made in kproxy.administration.create_acls([binding(host, rule) for rule in rules]).values():
        made.result(30)
    client, witness = (kproxy.client(host, group) for _ in range(2))
    client.topics = {"orders": kproxy.topics["orders"]}
    deadline = time.monotonic() + 30
    while client.heartbeat("join", "fetcher", 0, "orders").error_code != ErrorCode.NONE:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    client.fetch("open", OPEN, max_wait_ms=500)

    # When
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(client.fetch, "fetch", OPEN + 1, max_wait_ms=25_000)
        read_by = (of_group[1], group, of_group[2], "User:ANONYMOUS", host, AclOperation.READ, ALLOW)
        for deleted in kproxy.administration.delete_acls([AclBindingFilter(*read_by)]).values():
            deleted.result(30)
        while witness.heartbeat("look", "witness", 0, "orders").error_code == ErrorCode.NONE:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        was_waiting = not waiting.done()
        producer = Producer({"bootstrap.servers": kproxy.address})
        producer.produce("orders", b"x", partition=0)
        producer.flush(30)
        answer = waiting.result(30)

    # Then
    assert was_waiting
    assert isinstance(answer, ShareFetchResponse)
    assert answer.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert not answer.responses
    for each in (client, witness):
        each.close()


def test_the_topics_of_the_state_log_are_closed_to_clients_who_may_everything(
    targets: tuple[Target, Target],
) -> None:
    # Given
    _, kproxy = targets
    client_settings: dict[str, str | int] = {"bootstrap.servers": kproxy.address}
    delivered: dict[str, KafkaError | None] = {}

    # When: one request with both topics, a read, a deletion
    producer = Producer({**client_settings, "linger.ms": 200})
    for topic in (kproxy.state_topic, "orders"):
        producer.produce(
            topic, b"x", partition=0, on_delivery=lambda why, made: delivered.update({made.topic(): why})
        )
    producer.flush(30)
    consumer = Consumer({**client_settings, "group.id": "team-closed"})
    consumer.assign([TopicPartition(kproxy.state_topic, 0, 0)])
    read = consumer.poll(30)
    consumer.close()
    administrator = AdminClient(client_settings)
    deletion = administrator.delete_topics([kproxy.state_topic])[kproxy.state_topic]
    with pytest.raises(KafkaException) as refusal:
        deletion.result(30)

    # Then
    refused = delivered[kproxy.state_topic]
    assert refused is not None
    assert refused.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert delivered["orders"] is None
    assert read is not None
    assert read.error() is not None
    assert read.error().code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert refusal.value.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize("api_key", closed_topic_requests.REQUESTS, ids=lambda key: ApiKey(key).kafka_name)
def test_every_request_that_would_touch_the_state_log_is_denied_in_every_version(
    targets: tuple[Target, Target], api_key: int
) -> None:
    # Given
    _, kproxy = targets
    topic = closed_topic_requests.Closed(
        kproxy.state_topic, topic_ids(kproxy.address, kproxy.state_topic)[kproxy.state_topic]
    )
    with RawConnection(kproxy.address) as connection:
        offered = connection.ask(18, 3, ApiVersionsRequest("test", "1"), ApiVersionsResponse)
        newest = {each.api_key: each.max_version for each in offered.api_keys}[api_key]

        for version in closed_topic_requests.versions(api_key):
            if version > newest:
                continue
            # When
            asked = closed_topic_requests.request(api_key, version, topic)
            answer = connection.ask(api_key, version, asked, Message)

            # Then
            assert denials_in(answer, {}), (version, answer)


@pytest.mark.parametrize("api_key", sorted(GROUP_KEYS - COMMITS), ids=lambda key: ApiKey(key).kafka_name)
def test_nobody_acts_on_the_group_of_the_fleet(targets: tuple[Target, Target], api_key: int) -> None:
    # Given: its id, which is by default that of the state topic
    _, kproxy = targets
    request_class: Any = codecs.request_class(api_key)
    with RawConnection(kproxy.address) as connection:
        offered = connection.ask(18, 3, ApiVersionsRequest("test", "1"), ApiVersionsResponse)
        newest = {each.api_key: each.max_version for each in offered.api_keys}[api_key]

        for version in range(newest + 1):
            # When
            answer: Any = connection.ask(
                api_key, version, request_class(group_id=kproxy.state_topic), Message
            )

            # Then
            assert answer.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED, version


def test_no_share_group_is_given_records_of_the_state_log(targets: tuple[Target, Target]) -> None:
    # Given: a member of a group that may everything, and the id of the topic, which metadata tells
    _, kproxy = targets
    client = kproxy.client(ADMINISTRATOR, "team-curious")
    client.topics = topic_ids(kproxy.address, kproxy.state_topic)
    assert client.heartbeat("join", "fetcher", 0, "orders").error_code == ErrorCode.NONE

    # When
    client.fetch("open", OPEN, max_wait_ms=500)
    client.acknowledge("acknowledge", 1)

    # Then
    for label, field in (("open", "error_code"), ("acknowledge", "error_code")):
        assert client.outcome[label] == {(kproxy.state_topic, "0", field, "TOPIC_AUTHORIZATION_FAILED")}
    client.close()
