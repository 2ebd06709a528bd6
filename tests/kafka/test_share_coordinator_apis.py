"""The share coordinator's own APIs, keys 83 to 87: what a stock 4.3.1 answers, and writes, kproxy does."""

import random
from collections.abc import Iterator, Sequence
from typing import Final

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.share.identifiers import TopicId
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.api_versions_response import ApiVersionsResponse
from tests.kafka.share_state_differences import DIFFERENCES, Difference, essence
from tests.kafka.share_state_records import printed_records
from tests.kafka.share_state_sequences import SAME_EVERYWHERE, STEPS, Pair, play
from tests.real_kafka import administration
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess, state_topic_settings
from tests.real_kafka.raw_connection import RawConnection
from tests.real_kafka.share_endpoint import KPROXY_REFERENCE, EndpointsOfSession
from tests.real_kafka.share_state_client import (
    Delete,
    Initialize,
    Operation,
    Read,
    StateRequest,
    Summarize,
    Write,
    find_coordinators,
    request_of,
)

UPDATES_PER_SNAPSHOT: Final = {"share.coordinator.snapshot.update.records.per.snapshot": 4}
STOCK_SETTINGS: Final = {**UPDATES_PER_SNAPSHOT, "share.coordinator.append.linger.ms": 0}
PARTITIONS: Final = 40
SEEDS: Final = range(24)
STOCK_STATE_TOPIC: Final = "__share_group_state"
API_VERSIONS_VERSION: Final = 3
SERVED_VERSIONS: Final = {83: (0, 0), 84: (0, 0), 85: (0, 1), 86: (0, 0), 87: (0, 1)}
TOPIC_ID: Final = "AAAAAAAAAAAAAAAAAAAAAQ"
UNKNOWN_TOPIC: Final = TopicId(b"no such topic id")
ZERO_TOPIC: Final = TopicId(bytes(16))
ONE_OF_EACH: Final[tuple[Operation, ...]] = (
    *(Initialize(0, 0), Read(0), Write(0, 0, 0), Write(0, 0, 0, version=0)),
    *(Summarize(), Summarize(version=0), Delete()),
)

KEYS_THAT_NAME_ONE: Final = [f"group:{TOPIC_ID}:0", f"a:b:{TOPIC_ID}:2147483647", f"g:{'A' * 22}:0"]
BAD_KEYS: Final = [
    *("", "group", "group:0", f":{TOPIC_ID}:0", f" :{TOPIC_ID}:0", f"group:{TOPIC_ID[1:]}:0"),
    *(f"group:{TOPIC_ID}:", f"group:{TOPIC_ID}:x", f"group:{TOPIC_ID}:2147483648", f"group:{TOPIC_ID}$:0"),
]
KEYS_THAT_ONLY_JAVA_READS: Final = [
    *(f"group:{TOPIC_ID}:-1", f"group:{TOPIC_ID}:+1", f"group:{TOPIC_ID}:0:", f"group:{TOPIC_ID}==:0"),
]
"""No share-partition is called so; Java's parsers of numbers and of base64 let it pass."""


@pytest.fixture(scope="module")
def stock() -> Iterator[KafkaCluster]:
    """One broker that serves share groups; its share coordinator makes snapshots often and does not wait."""
    with KafkaCluster(share_groups=True, broker_settings=STOCK_SETTINGS) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def state_topics() -> dict[str, str | int]:
    """The names of kproxy's own topics, and all else that it is told of them."""
    return state_topic_settings()


@pytest.fixture(scope="module")
def kproxy(reference_cluster: KafkaCluster, state_topics: dict[str, str | int]) -> Iterator[KproxyProcess]:
    """A kproxy that serves its share coordinator to anybody."""
    settings = {**UPDATES_PER_SNAPSHOT, **state_topics, "kproxy.share.coordinator.enable": "true"}
    with KproxyProcess(reference_cluster.bootstrap_servers, settings=settings) as kproxy:
        kproxy.wait_until_ready()
        yield kproxy


@pytest.fixture(scope="module")
def topic(stock: KafkaCluster, kproxy: KproxyProcess) -> str:
    """A topic of this name in front of both."""
    name = unique_name("shared")
    for bootstrap_servers in (stock.bootstrap_servers, kproxy.bootstrap_servers):
        administration.create_topic(bootstrap_servers, name, partitions=PARTITIONS)
    return name


@pytest.fixture
def pair(stock: KafkaCluster, kproxy: KproxyProcess, topic: str) -> Iterator[Pair]:
    with Pair(stock, kproxy, topic) as pair:
        yield pair


# ------------------------------------------------ who serves them


def test_the_apis_are_advertised_as_by_a_stock_broker_when_they_are_enabled_and_not_otherwise(
    stock: KafkaCluster, kproxy: KproxyProcess, share_endpoint: EndpointsOfSession
) -> None:
    # Given
    served_by = [
        stock.bootstrap_servers,
        kproxy.bootstrap_servers,
        share_endpoint(KPROXY_REFERENCE).bootstrap_servers,
    ]

    # When
    advertised = [_advertised(address) for address in served_by]

    # Then
    assert advertised == [SERVED_VERSIONS, SERVED_VERSIONS, {}]


def test_that_anybody_may_use_them_is_said_in_one_warning(
    pair: Pair, kproxy: KproxyProcess, share_endpoint: EndpointsOfSession
) -> None:
    # Given
    disabled = share_endpoint(KPROXY_REFERENCE).kproxy
    assert disabled is not None

    # When
    pair.agree(Initialize(0, 0))

    # Then
    [warning] = kproxy.log_events("share_coordinator_on_the_wire")
    assert warning["level"] == "warning"
    assert "kproxy.share.coordinator.enable=true" in warning["detail"]
    assert disabled.log_events("share_coordinator_on_the_wire") == []


def test_every_share_partition_has_a_coordinator_whatever_its_group_is_called(
    pair: Pair, stock: KafkaCluster, kproxy: KproxyProcess
) -> None:
    # When
    found = [_found(address, KEYS_THAT_NAME_ONE) for address in _addresses(stock, kproxy)]

    # Then
    at_stock, at_kproxy = stock.broker_address(1), kproxy.broker_addresses[1]
    assert found == [
        [(key, ErrorCode.NONE, 1, address) for key in KEYS_THAT_NAME_ONE] for address in (at_stock, at_kproxy)
    ]
    assert pair.agree(Summarize()).start_offset == -1


@pytest.mark.parametrize(("version", "keys"), [(6, BAD_KEYS), (5, KEYS_THAT_NAME_ONE), (4, BAD_KEYS)])
def test_a_bad_key_and_a_version_without_such_keys_are_refused(
    stock: KafkaCluster, kproxy: KproxyProcess, version: int, keys: list[str]
) -> None:
    # When
    found = [_found(address, keys, version=version) for address in _addresses(stock, kproxy)]

    # Then
    assert found == [[(key, ErrorCode.INVALID_REQUEST, -1, ":-1") for key in keys]] * 2


def test_a_key_that_only_java_reads_is_refused_by_kproxy_alone(
    pair: Pair, stock: KafkaCluster, kproxy: KproxyProcess
) -> None:
    # Given
    assert pair.agree(Summarize()).error_code == ErrorCode.NONE

    # When
    found = [_found(address, KEYS_THAT_ONLY_JAVA_READS) for address in _addresses(stock, kproxy)]

    # Then
    codes = [{error_code for _, error_code, _, _ in entries} for entries in found]
    assert codes == [{ErrorCode.NONE}, {ErrorCode.INVALID_REQUEST}]


def test_where_they_are_not_served_there_is_no_share_coordinator(share_endpoint: EndpointsOfSession) -> None:
    # Given
    address = share_endpoint(KPROXY_REFERENCE).bootstrap_servers

    # When
    found = _found(address, [KEYS_THAT_NAME_ONE[0], BAD_KEYS[1]])

    # Then
    codes = [error_code for _, error_code, _, _ in found]
    assert codes == [ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.INVALID_REQUEST]


# ------------------------------------------------ what they answer


def test_the_life_of_a_share_partition_is_answered_alike(pair: Pair) -> None:
    # When
    answers = [pair.agree(operation) for operation in SAME_EVERYWHERE]

    # Then
    assert {answer.error_code for answer in answers} == {
        ErrorCode.NONE,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.FENCED_STATE_EPOCH,
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_else_is_asked_is_answered_alike(pair: Pair, seed: int) -> None:
    # Given
    choice = random.Random(seed)

    # When
    answers = play(pair, choice, partition=seed)

    # Then
    assert len(answers) == STEPS
    assert any(answer.error_code == ErrorCode.NONE for answer in answers)


@pytest.mark.parametrize("difference", DIFFERENCES.values(), ids=DIFFERENCES)
def test_kproxy_differs_where_there_is_a_reason(pair: Pair, difference: Difference) -> None:
    # Given
    for operation in difference.given:
        pair.agree(operation)

    # When
    answers = pair.ask(difference.operation)

    # Then
    if difference.seen_by is not None:
        assert essence(answers[0]) == essence(answers[1])
        answers = pair.ask(difference.seen_by)
    seen = tuple(essence(answer) for answer in answers)
    assert seen == (difference.stock, difference.kproxy), difference.reason


@pytest.mark.parametrize(
    ("topic_id", "partition"),
    [
        (None, -1),
        (None, -(2**31)),
        (None, PARTITIONS),
        (UNKNOWN_TOPIC, 0),
        (UNKNOWN_TOPIC, -1),
        (ZERO_TOPIC, 0),
    ],
)
def test_a_partition_that_is_not_there_is_refused_alike(
    pair: Pair, topic_id: TopicId | None, partition: int
) -> None:
    # When
    answers = [pair.agree(operation, partition=partition, topic_id=topic_id) for operation in ONE_OF_EACH]

    # Then
    assert {answer.error_code for answer in answers} <= {
        ErrorCode.INVALID_REQUEST,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


@pytest.mark.parametrize("operation", ONE_OF_EACH, ids=repr)
def test_a_request_for_many_partitions_is_answered_for_each(pair: Pair, operation: Operation) -> None:
    # Given
    partitions = [3, 0, PARTITIONS, -1]
    for partition in partitions[:2]:
        pair.agree(Initialize(0, partition), partition=partition)

    # When
    stock, kproxy = (
        client.ask_all([(partition, operation) for partition in partitions])
        for client in (pair.stock, pair.kproxy)
    )

    # Then
    assert sorted(stock, key=repr) == sorted(kproxy, key=repr)
    assert [answer.partition for answer in kproxy] == partitions


@pytest.mark.parametrize("operation", ONE_OF_EACH, ids=repr)
def test_a_request_for_no_group_or_no_topic_is_answered_with_nothing(
    pair: Pair, operation: Operation
) -> None:
    # Given
    for_no_group = [request_of("", client.topic_id, [(0, operation)]) for client in (pair.stock, pair.kproxy)]
    for_no_topic = [_without_topics(request) for request in for_no_group]

    # When
    results = [
        client.send(request).results
        for client, *requests in zip((pair.stock, pair.kproxy), for_no_group, for_no_topic, strict=True)
        for request in requests
    ]

    # Then
    assert results == [[], [], [], []]


@pytest.mark.parametrize("operation", ONE_OF_EACH, ids=repr)
def test_kproxy_answers_as_often_as_it_is_asked_and_a_stock_broker_once(
    pair: Pair, operation: Operation
) -> None:
    # When
    stock, kproxy = (
        client.ask_all([(0, operation), (0, operation), (1, operation)])
        for client in (pair.stock, pair.kproxy)
    )

    # Then
    assert [answer.partition for answer in stock] == [0, 1]
    assert [answer.partition for answer in kproxy] == [0, 0, 1]
    assert {answer.error_code for answer in stock} == {answer.error_code for answer in kproxy}


# ------------------------------------------------ what they write


def test_kafkas_formatter_prints_the_same_records_of_both_state_topics(
    pair: Pair,
    stock: KafkaCluster,
    reference_cluster: KafkaCluster,
    state_topics: dict[str, str | int],
) -> None:
    # Given
    for operation in SAME_EVERYWHERE:
        pair.agree(operation, partition=0)
    for seed in range(1, 8):
        play(pair, random.Random(seed), partition=seed, only_new=True)

    # When
    own_topic = str(state_topics["kproxy.state.topic.name"])
    written, own = printed_records(
        [(stock.bootstrap_servers, STOCK_STATE_TOPIC), (reference_cluster.bootstrap_servers, own_topic)],
        pair.group,
    )

    # Then
    assert own.keys() == set(range(8))
    assert sum(map(len, own.values())) > 8 * STEPS / 2
    assert own == written


def _without_topics(request: StateRequest) -> StateRequest:
    message = type(request.message)()
    message.group_id = "group"  # type: ignore[attr-defined]  # each of the five has one
    return StateRequest(request.api_key, request.version, message)


def _addresses(stock: KafkaCluster, kproxy: KproxyProcess) -> tuple[str, str]:
    return stock.bootstrap_servers, kproxy.bootstrap_servers


def _found(address: str, keys: Sequence[str], *, version: int = 6) -> list[tuple[str, int, int, str]]:
    """Of each key: the key as it is answered, error code, node id and address."""
    with RawConnection(address) as connection:
        found = find_coordinators(connection, *keys, version=version)
    return [(each.key, each.error_code, each.node_id, f"{each.host}:{each.port}") for each in found]


def _advertised(address: str) -> dict[int, tuple[int, int]]:
    request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
    with RawConnection(address) as connection:
        answer = connection.ask(ApiKey.API_VERSIONS, API_VERSIONS_VERSION, request, ApiVersionsResponse)
    return {
        api.api_key: (api.min_version, api.max_version)
        for api in answer.api_keys
        if api.api_key in SERVED_VERSIONS
    }
