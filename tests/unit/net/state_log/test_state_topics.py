"""The two topics that hold everything durable: made with the right settings, refused with the wrong ones."""

from collections.abc import Mapping

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.net.state_log import state_topics
from kproxy.net.state_log.state_topics import (
    SlotTopics,
    StateTopicPlan,
    StateTopicUnusable,
    hear_of_leaders,
    listed_brokers,
)
from kproxy.security.own_rights import OWN_RIGHTS, operation_name
from kproxy.wire.api_keys import ApiKey
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.state_logs import (
    GROUPS,
    STATE,
    StateLogBacking,
    alarms,
    create_state_topics,
    topic_plan,
)


async def refusal_of(cluster: ScriptedStateLog, *, replication_factor: int = 1) -> str:
    """Return why the topics of `cluster` cannot be used."""
    async with cluster, StateLogBacking(cluster) as backing:
        plan = topic_plan(replication_factor=replication_factor)
        with pytest.raises(StateTopicUnusable) as refusal:
            await backing.state_topics(plan).ensure()
    return str(refusal.value)


async def slots_of(cluster: ScriptedStateLog, plan: StateTopicPlan | None = None) -> SlotTopics:
    """Return the topics of `cluster`, found or created."""
    async with cluster, StateLogBacking(cluster) as backing:
        return await backing.state_topics(plan).ensure()


async def test_topics_that_are_missing_are_created_with_the_settings_that_keep_state() -> None:
    # Given
    cluster = ScriptedStateLog((1, 2))

    # When
    topics = await slots_of(cluster)

    # Then
    assert (topics.state.name, topics.groups.name, topics.slot_count) == (STATE, GROUPS, 2)
    assert cluster.configs == {
        STATE: {
            "cleanup.policy": "delete",
            "retention.ms": "-1",
            "retention.bytes": "-1",
            "unclean.leader.election.enable": "false",
            "compression.type": "producer",
            "min.insync.replicas": "1",
            "segment.bytes": "104857600",
        },
        GROUPS: {
            "cleanup.policy": "compact",
            "unclean.leader.election.enable": "false",
            "compression.type": "producer",
            "min.insync.replicas": "1",
            "min.compaction.lag.ms": "3600000",
            "segment.ms": "86400000",
            "message.timestamp.type": "LogAppendTime",
        },
    }


async def test_topics_that_are_there_are_taken_as_they_are() -> None:
    # Given
    cluster = ScriptedStateLog()
    create_state_topics(cluster, state_count=3, groups_count=3)

    # When
    topics = await slots_of(cluster)

    # Then
    assert topics.slot_count == 3
    assert cluster.asked(ApiKey.CREATE_TOPICS) == []


async def test_only_what_is_missing_is_created() -> None:
    # Given
    cluster = ScriptedStateLog()
    create_state_topics(cluster)
    cluster.delete_topic(next(key for key, name in cluster.topic_names.items() if name == GROUPS))

    # When
    topics = await slots_of(cluster)

    # Then
    assert topics.groups.partition_count == 2
    (asked,) = cluster.asked(ApiKey.CREATE_TOPICS)
    assert [topic.name for topic in asked.message.topics] == [GROUPS]  # type: ignore[attr-defined]


async def test_where_only_the_controller_creates_topics_every_broker_is_asked_until_it_is_found() -> None:
    # Given
    cluster = ScriptedStateLog((1, 2, 3))
    cluster.controller_id = 3

    # When
    topics = await slots_of(cluster)

    # Then
    assert topics.slot_count == 2
    assert [len(broker.asked(ApiKey.CREATE_TOPICS)) for broker in cluster.brokers.values()] == [1, 1, 1]


async def test_without_a_controller_there_is_nothing_but_trying_again() -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        cluster.controller_id = 99

        # When / Then
        with pytest.raises(BrokerUnavailable, match="is not the controller"):
            await backing.state_topics().ensure()


async def test_a_topic_that_somebody_else_created_a_moment_ago_is_as_good_as_ours() -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        await backing.metadata.topics_named([STATE, GROUPS])
        create_state_topics(cluster)

        # When
        topics = await backing.state_topics().ensure()

        # Then
        assert topics.slot_count == 2


async def test_too_few_brokers_for_the_replicas_names_the_keys_to_set() -> None:
    # When
    refusal = await refusal_of(ScriptedStateLog((1, 2)), replication_factor=3)

    # Then
    assert "needs 3 replicas and the cluster has 2 brokers" in refusal
    assert "share.coordinator.state.topic.replication.factor" in refusal
    assert "share.coordinator.state.topic.min.isr" in refusal


@pytest.mark.parametrize(
    "error_code", [ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
)
async def test_a_principal_that_may_not_create_topics_is_told_the_permissions_it_needs(
    error_code: ErrorCode,
) -> None:
    # Given
    cluster = ScriptedStateLog()
    cluster.creation_error = error_code

    # When
    refusal = await refusal_of(cluster)

    # Then
    assert "its principal lacks Create there" in refusal
    for resource, operations in OWN_RIGHTS.items():
        for operation in operations:
            assert operation_name(operation) in refusal, resource
    assert f"on the topics {STATE} and {GROUPS}" in refusal
    assert f"Write on the transactional ids with prefix {STATE}-" in refusal
    assert "Describe on the cluster" in refusal
    assert "IdempotentWrite" not in refusal


async def test_a_name_that_the_cluster_forbids_can_be_another() -> None:
    # Given
    cluster = ScriptedStateLog()
    cluster.creation_error = ErrorCode.POLICY_VIOLATION

    # When
    refusal = await refusal_of(cluster)

    # Then
    assert "POLICY_VIOLATION" in refusal
    assert "kproxy.state.topic.name and kproxy.groups.topic.name" in refusal


async def test_a_refusal_that_may_pass_is_tried_again() -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        cluster.creation_error = ErrorCode.REQUEST_TIMED_OUT

        # When / Then
        with pytest.raises(BrokerUnavailable, match=f"topic {STATE} could not be created: REQUEST_TIMED_OUT"):
            await backing.state_topics().ensure()


@pytest.mark.parametrize(
    ("topic", "wrong", "right"),
    [
        (STATE, {"cleanup.policy": "compact"}, "delete"),
        (STATE, {"cleanup.policy": "compact,delete"}, "delete"),
        (STATE, {"retention.ms": "604800000"}, "-1"),
        (STATE, {"retention.bytes": "1073741824"}, "-1"),
        (STATE, {"unclean.leader.election.enable": "true"}, "false"),
        (STATE, {"compression.type": "zstd"}, "producer"),
        (GROUPS, {"cleanup.policy": "delete"}, "compact"),
        (GROUPS, {"unclean.leader.election.enable": "true"}, "false"),
    ],
)
async def test_settings_under_which_state_would_be_lost_are_refused_with_the_command_that_helps(
    topic: str, wrong: Mapping[str, str], right: str
) -> None:
    # Given
    cluster = ScriptedStateLog()
    create_state_topics(cluster)
    cluster.configs[topic] |= wrong

    # When
    refusal = await refusal_of(cluster)

    # Then
    ((key, value),) = wrong.items()
    assert f"topic {topic} has {key}={value}" in refusal
    assert f"--entity-name {topic} --add-config {key}={right}" in refusal


async def test_topics_with_unequally_many_partitions_are_refused() -> None:
    # Given
    cluster = ScriptedStateLog()
    create_state_topics(cluster, state_count=50, groups_count=51)

    # When
    refusal = await refusal_of(cluster)

    # Then
    assert f"topic {STATE} has 50 partitions and {GROUPS} has 51" in refusal
    assert "kproxy.state.topic.name and kproxy.groups.topic.name" in refusal


async def test_the_smaller_of_the_two_largest_messages_bounds_every_batch() -> None:
    # Given
    cluster = ScriptedStateLog()
    create_state_topics(cluster)
    cluster.configs[GROUPS]["max.message.bytes"] = "65536"

    # When / Then
    assert (await slots_of(cluster)).max_message_bytes == 65_536


async def test_fewer_replicas_in_sync_than_configured_are_worth_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Given
    cluster = ScriptedStateLog()
    create_state_topics(cluster)
    cluster.configs[STATE]["min.insync.replicas"] = "0"

    # When
    await slots_of(cluster)

    # Then
    assert [record.msg for record in alarms(caplog)] == ["state_topic_less_safe_than_configured"]


async def test_settings_that_kproxy_may_not_see_are_not_checked_and_that_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Given
    cluster = ScriptedStateLog()
    create_state_topics(cluster)
    cluster.description_error = ErrorCode.TOPIC_AUTHORIZATION_FAILED

    # When
    topics = await slots_of(cluster)

    # Then
    assert topics.max_message_bytes == 1_048_588
    assert [record.msg for record in alarms(caplog)] == ["state_topic_unchecked"] * 2


async def test_a_cluster_that_does_not_know_its_new_topics_yet_is_asked_again_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(state_topics, "PROPAGATION_LOOKS", 2)

    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        honest = cluster.brokers[1].answers[ApiKey.CREATE_TOPICS]

        def created_elsewhere(request: object) -> object:
            response = honest(request)  # type: ignore[arg-type]  # passed on as it came
            for topic_id in list(cluster.topic_names):
                cluster.delete_topic(topic_id)
            return response

        cluster.brokers[1].answers[ApiKey.CREATE_TOPICS] = created_elsewhere  # type: ignore[assignment]  # likewise

        # When / Then
        with pytest.raises(BrokerUnavailable, match=f"do not know the new topics {STATE} and {GROUPS} yet"):
            await backing.state_topics().ensure()


async def test_fewer_replicas_than_configured_are_worth_a_warning_for_each_topic(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Given
    cluster = ScriptedStateLog((1, 2))
    create_state_topics(cluster)

    # When
    await slots_of(cluster, topic_plan(replication_factor=3))

    # Then
    said = [getattr(record, "event_keys", {}) for record in alarms(caplog)]
    assert [(line["topic"], line["replicas"], line["configured"]) for line in said] == [
        (STATE, 2, 3),
        (GROUPS, 2, 3),
    ]


async def test_who_leads_is_asked_when_the_cluster_names_other_brokers_and_while_there_is_no_leader() -> None:
    async with ScriptedStateLog((1, 2)) as cluster, StateLogBacking(cluster) as backing:
        # Given
        topics = await backing.state_topics().ensure()
        metadata, topic_id = backing.metadata, topics.state.topic_id
        both = listed_brokers(metadata)
        heard = []

        # When
        for node_id, before in ((-1, both), (-1, frozenset({1})), (2, both)):
            cluster.lead(topic_id, 0, node_id)
            assert await hear_of_leaders(metadata, topics, before) == both
            leader = metadata.leader_of(topic_id, 0)
            heard.append(None if leader is None else leader.leader_id)

        # Then
        assert heard == [1, -1, 2]
