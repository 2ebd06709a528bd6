"""What a cluster lacks is told before kproxy misses it, by what its brokers answer."""

from collections.abc import Callable, Iterable

import pytest

from kproxy.clients.checkup.checks import Check, Outcome, Subject
from kproxy.clients.checkup.cluster_checks import (
    StateTopicWishes,
    rights_checks,
    topic_checks,
    version_checks,
)
from kproxy.clients.cluster.cluster_client import ClusterClient, connected_cluster
from kproxy.clients.cluster.connection import BrokerAddress
from kproxy.clients.cluster.deadline import Deadline
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.api_versions_response import ApiVersion, ApiVersionsResponse, FinalizedFeatureKey
from kproxy.wire.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from kproxy.wire.messages.describe_acls_response import DescribeAclsResponse
from kproxy.wire.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kproxy.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.in_memory.answering_broker import AnsweringBroker
from tests.in_memory.loop_in_a_thread import loop_in_a_thread

SUBJECT = Subject("the cluster")
WISHES = StateTopicWishes("states", {"cleanup.policy": "delete"}, 16, 3, "Create on topic states")
ADD = "kafka-acls.sh --add --allow-principal User:NAME"
APIS = (ApiKey.METADATA, ApiKey.CREATE_TOPICS, ApiKey.DESCRIBE_CONFIGS, ApiKey.DESCRIBE_ACLS)


def looking(
    look: Callable[[ClusterClient], Iterable[Check]],
    *,
    metadata: MetadataResponseTopic | None = None,
    versions: tuple[int, int] = (0, 12),
    features: tuple[FinalizedFeatureKey, ...] = (),
    **answers: Message,
) -> list[Check]:
    """What a look finds in a cluster of one broker that answers so."""
    topics = [] if metadata is None else [metadata]
    keys = [ApiVersion(key, 0, 3) for key in (ApiKey.API_VERSIONS, ApiKey.SHARE_FETCH, *APIS[1:])]
    told = ApiVersionsResponse(
        api_keys=[*keys, ApiVersion(ApiKey.METADATA, *versions)], finalized_features=list(features)
    )
    broker = AnsweringBroker(
        {
            ApiKey.API_VERSIONS: lambda _: told,
            ApiKey.METADATA: lambda _: MetadataResponse(topics=topics),
            **{ApiKey[name.upper()]: always(answer) for name, answer in answers.items()},
        }
    )
    with loop_in_a_thread() as loop:
        loop.run(broker.start())
        try:
            address = BrokerAddress("127.0.0.1", broker.address.port)
            with connected_cluster([address], Deadline(10_000)) as client:
                return list(look(client))
        finally:
            loop.run(broker.stop())


def always(answer: Message) -> Callable[[DecodedRequest], Message]:
    return lambda _: answer


def of_topic(client: ClusterClient) -> Iterable[Check]:
    return topic_checks(SUBJECT, client, WISHES)


def a_topic(*partitions: tuple[int, list[int], list[int]], error_code: int = 0) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=error_code,
        name="states",
        partitions=[
            MetadataResponsePartition(
                partition_index=number, leader_id=leader, replica_nodes=replicas, isr_nodes=isr
            )
            for number, (leader, replicas, isr) in enumerate(partitions)
        ],
    )


def settings(**values: str) -> DescribeConfigsResponse:
    configs = [DescribeConfigsResourceResult(name.replace("_", "."), value) for name, value in values.items()]
    return DescribeConfigsResponse(
        results=[DescribeConfigsResult(resource_type=2, resource_name="states", configs=configs)]
    )


def test_a_cluster_of_today_without_share_groups_is_what_kproxy_is_for() -> None:
    # When
    checks = looking(lambda client: version_checks(SUBJECT, client))

    # Then
    assert [check.outcome for check in checks] == [Outcome.OK, Outcome.OK]


def test_a_cluster_without_topic_ids_is_too_old() -> None:
    # When
    checks = looking(lambda client: version_checks(SUBJECT, client), versions=(0, 9))

    # Then
    assert (checks[0].outcome, checks[0].remedy) == (Outcome.FAILED, "kproxy needs Kafka 2.8 or newer")


def test_a_cluster_that_serves_share_groups_itself_is_told() -> None:
    # When
    checks = looking(
        lambda client: version_checks(SUBJECT, client), features=(FinalizedFeatureKey("share.version", 1, 1),)
    )

    # Then
    assert (checks[1].outcome, "kproxy.share.upstream" in checks[1].remedy) == (Outcome.WARNING, True)


def test_a_topic_with_leaders_replicas_and_its_settings_is_well() -> None:
    # When
    checks = looking(
        of_topic,
        metadata=a_topic((1, [1, 2, 3], [1, 2])),
        describe_configs=settings(cleanup_policy="delete"),
    )

    # Then
    assert [(check.name, check.outcome) for check in checks] == [
        ("leaders", Outcome.OK),
        ("replicas", Outcome.OK),
        ("settings", Outcome.OK),
    ]


@pytest.mark.parametrize(
    ("topic", "name", "outcome"),
    [
        (a_topic((1, [1, 2, 3], [1, 2, 3]), (-1, [1, 2, 3], [1, 2, 3])), "leaders", Outcome.FAILED),
        (a_topic((1, [1, 2, 3], [1])), "replicas", Outcome.FAILED),
        (a_topic((1, [1, 2], [1, 2])), "replicas", Outcome.WARNING),
    ],
)
def test_partitions_that_cannot_be_written_to_safely_are_told(
    topic: MetadataResponseTopic, name: str, outcome: Outcome
) -> None:
    # When
    checks = looking(of_topic, metadata=topic, describe_configs=settings(min_insync_replicas="2"))

    # Then
    assert [check.outcome for check in checks if check.name == name] == [outcome]


@pytest.mark.parametrize(
    ("topic", "outcome", "detail"),
    [
        (
            a_topic((1, [1, 2, 3], [1, 2, 3]), (1, [1, 2, 3], [1, 2])),
            Outcome.SKIPPED,
            (
                "3 of each partition, 2 in sync at least; whether that is enough to write is not known, "
                "for min.insync.replicas cannot be read"
            ),
        ),
        (a_topic((-1, [1, 2, 3], [])), Outcome.FAILED, "fewer than 1 in sync: 1 partition, 0 first"),
        (
            a_topic((1, [1, 2], [1, 2])),
            Outcome.WARNING,
            "2, and share.coordinator.state.topic.replication.factor is 3",
        ),
    ],
)
def test_whether_enough_replicas_are_in_sync_is_not_known_where_settings_cannot_be_read(
    topic: MetadataResponseTopic, outcome: Outcome, detail: str
) -> None:
    # Given
    denied = DescribeConfigsResult(error_code=29, resource_type=2, resource_name="states")

    # When
    checks = looking(of_topic, metadata=topic, describe_configs=DescribeConfigsResponse(results=[denied]))

    # Then
    assert [(check.outcome, check.detail) for check in checks if check.name == "replicas"] == [
        (outcome, detail)
    ]
    assert [check.outcome for check in checks if check.name == "settings"] == [Outcome.WARNING]


def test_settings_that_lose_state_come_with_the_command_that_mends_them() -> None:
    # When
    checks = looking(
        of_topic,
        metadata=a_topic((1, [1, 2, 3], [1, 2, 3])),
        describe_configs=settings(cleanup_policy="compact"),
    )

    # Then
    assert checks[-1].outcome is Outcome.FAILED
    assert checks[-1].remedy.endswith("--entity-name states --add-config cleanup.policy=delete")


def test_a_right_to_create_topics_that_is_missing_comes_with_the_command_that_grants_it() -> None:
    # Given
    denied = CreateTopicsResponse(topics=[CreatableTopicResult(name="states", error_code=29)])

    # When
    [check] = looking(of_topic, metadata=a_topic(error_code=3), create_topics=denied)

    # Then
    assert f"{ADD} --topic states --operation Create (deploy/acls/kproxy-acls.sh" in check.remedy


def test_a_right_to_see_the_lists_that_is_missing_comes_with_the_command_that_grants_it() -> None:
    # When
    [check] = looking(
        lambda client: rights_checks(SUBJECT, client), describe_acls=DescribeAclsResponse(error_code=31)
    )

    # Then
    assert f"{ADD} --cluster --operation Describe (deploy/acls/kproxy-acls.sh" in check.remedy


@pytest.mark.parametrize(
    ("error_code", "outcome", "remedy"),
    [
        (0, Outcome.OK, ""),
        (29, Outcome.FAILED, "allow it Create on topic states, or create the topic yourself"),
        (38, Outcome.FAILED, "set share.coordinator.state.topic.replication.factor and .min.isr"),
        (41, Outcome.SKIPPED, ""),
        (44, Outcome.FAILED, "ask who runs the cluster"),
    ],
)
def test_of_a_topic_that_is_missing_the_cluster_says_whether_it_would_be_made(
    error_code: int, outcome: Outcome, remedy: str
) -> None:
    # Given
    result = CreatableTopicResult(name="states", error_code=error_code)

    # When
    [check] = looking(
        of_topic, metadata=a_topic(error_code=3), create_topics=CreateTopicsResponse(topics=[result])
    )

    # Then
    assert (check.outcome, check.remedy[: len(remedy)]) == (outcome, remedy)


@pytest.mark.parametrize(("error_code", "outcome"), [(0, Outcome.OK), (54, Outcome.OK), (31, Outcome.FAILED)])
def test_lists_that_cannot_be_seen_keep_share_groups_off(error_code: int, outcome: Outcome) -> None:
    # When
    [check] = looking(
        lambda client: rights_checks(SUBJECT, client),
        describe_acls=DescribeAclsResponse(error_code=error_code),
    )

    # Then
    assert check.outcome is outcome
