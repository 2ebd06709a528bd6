"""The two topics of the backing cluster that hold everything durable: created when missing, checked at every start.

Settings that would lose state are refused: a state topic that is compacted loses updates, one with retention loses
snapshots, and an unclean leader election loses acknowledgements that were answered.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from kproxy.error_codes import ErrorCode, known_code
from kproxy.errors import BrokerUnavailable, KproxyError
from kproxy.handlers.ports import TopicDescription
from kproxy.net.cluster.broker_client import BrokerClient
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.security.own_rights import OwnResource, own_rights_in_words
from kproxy.telemetry import logs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.message_schema import Message
from kproxy.wire.messages.create_topics_request import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kproxy.wire.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.describe_configs_response import DescribeConfigsResponse, DescribeConfigsResult
from kproxy.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kproxy.wire.messages.metadata_response import MetadataResponse
from kproxy.wording import counted

log = logs.logger("net.state_log.state_topics")

CREATION_TIMEOUT_MS: Final = 10_000
PROPAGATION_LOOKS: Final = 50
PROPAGATION_PAUSE_SECONDS: Final = 0.05
DEFAULT_MAX_MESSAGE_BYTES: Final = 1_048_588
"""Kafka's own default of `max.message.bytes`."""

_TOPIC_RESOURCE: Final = 2
_NOT_CONTROLLER: Final = 41
_DENIED: Final = frozenset({ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED})

_NEVER_LOSES: Final = {"unclean.leader.election.enable": "false", "compression.type": "producer"}
"""kproxy writes uncompressed batches, reads those and gzip, and would not read what a broker compressed otherwise."""
_DEMANDS_OF_STATE: Final = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    **_NEVER_LOSES,
}
_DEMANDS_OF_GROUPS: Final = {"cleanup.policy": "compact", **_NEVER_LOSES}


class StateTopicUnusable(KproxyError):
    """A state topic cannot be created, or has settings under which state would be lost.

    Raised by `StateTopics`; share groups stay off with this text as the reason, and plain traffic goes on.
    """


_GIVEN_TO_GROUPS: Final = {
    "min.compaction.lag.ms": "3600000",
    "message.timestamp.type": "LogAppendTime",
    # The active segment is not compacted, and every start reads the whole topic: signs of life must not pile up there.
    "segment.ms": "86400000",
}
"""What a late record of an older owner displaces stays for an hour after it came, whenever it was made: the owner
writes it anew by then. Given when kproxy creates the topic; no reason to refuse one without."""


@dataclass(frozen=True, slots=True)
class StateTopicPlan:
    """Names, and what the topics are created with. Kafka's `share.coordinator.state.topic.*`."""

    state_name: str
    groups_name: str
    partition_count: int
    replication_factor: int
    min_insync_replicas: int
    segment_bytes: int

    def demands(self) -> Mapping[str, Mapping[str, str]]:
        """Return the settings without which each topic is refused."""
        return {self.state_name: _DEMANDS_OF_STATE, self.groups_name: _DEMANDS_OF_GROUPS}

    def required_acls(self) -> str:
        """Return all that kproxy's principal must be allowed to do, in the words of kafka-acls."""
        names = {
            OwnResource.STATE_TOPICS: f"the topics {self.state_name} and {self.groups_name}",
            OwnResource.TRANSACTIONAL_IDS: f"the transactional ids with prefix {self.state_name}-",
        }
        return own_rights_in_words(names)


@dataclass(frozen=True, slots=True)
class SlotTopics:
    """The topics as they are. A slot is a partition of each."""

    state: TopicDescription
    groups: TopicDescription
    max_message_bytes: int
    """The smaller of the two topics' `max.message.bytes`."""
    is_new: bool = False
    """Whether the groups topic was created just now: nothing was recorded in it yet."""

    @property
    def slot_count(self) -> int:
        """How many slots there are: the partitions of each topic."""
        return self.state.partition_count


class StateTopics:
    """Makes sure that both topics are there and fit for their purpose."""

    def __init__(self, plan: StateTopicPlan, *, metadata: ClusterMetadataCache) -> None:
        self._plan = plan
        self._metadata = metadata

    async def ensure(self) -> SlotTopics:
        """Create what is missing, check what is there, and return it.

        Raises:
            StateTopicUnusable: a topic cannot be made or must not be used; the text says why and what to do.
            BrokerUnavailable: the cluster does not answer, or does not know the new topics yet.
        """
        names = (self._plan.state_name, self._plan.groups_name)
        created: Collection[str] = ()
        found = await self._metadata.topics_named(names)
        if missing := [name for name in names if name not in found]:
            created = await self._create(missing)
            found = await self._freshly_found(names)
        else:
            await self._warn_of_few_replicas(names)
        state, groups = (found[name] for name in names)
        _require_equal_partition_counts(state, groups)
        return SlotTopics(state, groups, await self._check_configs(), is_new=groups.name in created)

    async def _freshly_found(self, names: Sequence[str]) -> Mapping[str, TopicDescription]:
        """Brokers learn of a topic a moment after the controller has made it."""
        for _ in range(PROPAGATION_LOOKS):
            await asyncio.sleep(PROPAGATION_PAUSE_SECONDS)
            self._metadata.expect(names)
            found = await self._metadata.topics_named(names)
            if len(found) == len(names):
                return found
        raise BrokerUnavailable(f"the brokers do not know the new topics {' and '.join(names)} yet")

    # ------------------------------------------------ creating

    async def _create(self, names: Sequence[str]) -> Collection[str]:
        """Return which of `names` were created, and not by somebody else at the same time."""
        request = CreateTopicsRequest(
            topics=[self._creatable(name) for name in names], timeout_ms=CREATION_TIMEOUT_MS
        )
        response = await self._ask_controller(request)
        return [result.name for result in response.topics if self._was_created(result)]

    def _creatable(self, name: str) -> CreatableTopic:
        plan = self._plan
        configs = {
            **plan.demands()[name],
            "min.insync.replicas": str(plan.min_insync_replicas),
        }
        if name == plan.state_name:
            configs["segment.bytes"] = str(plan.segment_bytes)
        else:
            configs |= _GIVEN_TO_GROUPS
        return CreatableTopic(
            name=name,
            num_partitions=plan.partition_count,
            replication_factor=plan.replication_factor,
            configs=[CreatableTopicConfig(key, value) for key, value in configs.items()],
        )

    async def _ask_controller(self, request: CreateTopicsRequest) -> CreateTopicsResponse:
        """Ask one broker after the other: with ZooKeeper only the controller creates topics."""

        async def question(client: BrokerClient) -> CreateTopicsResponse:
            answer = await client.request(ApiKey.CREATE_TOPICS, request, broker_wait_ms=CREATION_TIMEOUT_MS)
            response = cast("CreateTopicsResponse", answer)
            if all(result.error_code == _NOT_CONTROLLER for result in response.topics):
                raise BrokerUnavailable(f"{client.peer} is not the controller")
            return response

        return await self._metadata.ask(question, is_repeatable=False)

    def _was_created(self, result: CreatableTopicResult) -> bool:
        code = known_code(result.error_code)
        if code is ErrorCode.NONE:
            log.info("state_topic_created", topic=result.name, partitions=self._plan.partition_count)
            return True
        if code is ErrorCode.TOPIC_ALREADY_EXISTS:
            return False
        if code is ErrorCode.INVALID_REPLICATION_FACTOR:
            raise StateTopicUnusable(self._too_few_brokers(result.name))
        if code in _DENIED:
            raise StateTopicUnusable(
                f"kproxy may not create topic {result.name}: its principal lacks Create there. In all it needs "
                f"{self._plan.required_acls()} (deploy/acls/kproxy-acls.sh grants it all); or create the topic yourself"
            )
        if code in {ErrorCode.POLICY_VIOLATION, ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_TOPIC_EXCEPTION}:
            raise StateTopicUnusable(
                f"the cluster refuses to create topic {result.name}: {result.error_message or code.name}; another "
                "name is set with kproxy.state.topic.name and kproxy.groups.topic.name"
            )
        raise BrokerUnavailable(
            f"topic {result.name} could not be created: {result.error_message or code.name}"
        )

    def _too_few_brokers(self, name: str) -> str:
        return (
            f"topic {name} needs {counted(self._plan.replication_factor, 'replica')} and the cluster has "
            f"{counted(len(self._metadata.brokers), 'broker')}: set "
            "share.coordinator.state.topic.replication.factor and share.coordinator.state.topic.min.isr to what "
            "the cluster can hold (1 and 1 on a single broker)"
        )

    # ------------------------------------------------ checking

    async def _check_configs(self) -> int:
        """Raise StateTopicUnusable for wrong settings; return the smaller max.message.bytes."""
        largest = DEFAULT_MAX_MESSAGE_BYTES
        for result in await self._describe_configs():
            if result.error_code != ErrorCode.NONE:
                detail = result.error_message or known_code(result.error_code).name
                log.warning("state_topic_unchecked", topic=result.resource_name, detail=detail)
                continue
            values = {config.name: config.value or "" for config in result.configs}
            self._require(result.resource_name, values)
            largest = min(largest, int(values.get("max.message.bytes") or largest))
        return largest

    async def _warn_of_few_replicas(self, names: Sequence[str]) -> None:
        """Say so when a topic that somebody else created has fewer replicas than configured."""

        async def question(client: BrokerClient) -> Message:
            topics = [MetadataRequestTopic(name=name) for name in names]
            request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
            return await client.request(ApiKey.METADATA, request)

        response = cast("MetadataResponse", await self._metadata.ask(question))
        for topic in response.topics:
            replicas = min((len(partition.replica_nodes) for partition in topic.partitions), default=0)
            if 0 < replicas < self._plan.replication_factor:
                log.warning(
                    "state_topic_less_safe_than_configured",
                    topic=topic.name,
                    replicas=replicas,
                    configured=self._plan.replication_factor,
                )

    async def _describe_configs(self) -> Sequence[DescribeConfigsResult]:
        request = DescribeConfigsRequest(
            resources=[
                DescribeConfigsResource(
                    _TOPIC_RESOURCE, name, [*demands, "min.insync.replicas", "max.message.bytes"]
                )
                for name, demands in self._plan.demands().items()
            ]
        )
        response = await self._metadata.ask(lambda client: client.request(ApiKey.DESCRIBE_CONFIGS, request))
        return cast("DescribeConfigsResponse", response).results

    def _require(self, name: str, values: Mapping[str, str]) -> None:
        for key, demanded in self._plan.demands()[name].items():
            if key in values and values[key] != demanded:
                raise StateTopicUnusable(
                    f"topic {name} has {key}={values[key]}, under which share-group state would be lost: set it to "
                    f"{demanded} (kafka-configs.sh --alter --entity-type topics --entity-name {name} "
                    f"--add-config {key}={demanded})"
                )
        replicas = values.get("min.insync.replicas", "")
        if replicas.isdecimal() and int(replicas) < self._plan.min_insync_replicas:
            log.warning(
                "state_topic_less_safe_than_configured",
                topic=name,
                min_insync_replicas=replicas,
                configured=self._plan.min_insync_replicas,
            )


def _require_equal_partition_counts(state: TopicDescription, groups: TopicDescription) -> None:
    if state.partition_count != groups.partition_count:
        raise StateTopicUnusable(
            f"topic {state.name} has {counted(state.partition_count, 'partition')} and {groups.name} has "
            f"{groups.partition_count}, and they must have equally many: they belong together since they were "
            "created, and adding partitions to either makes share groups lose their state; name two others with "
            "kproxy.state.topic.name and kproxy.groups.topic.name, or restore the old ones"
        )


def listed_brokers(metadata: ClusterMetadataCache) -> frozenset[int]:
    """Return the node ids of the brokers that the cluster names."""
    return frozenset(broker.node_id for broker in metadata.brokers)


async def hear_of_leaders(
    metadata: ClusterMetadataCache, topics: SlotTopics, before: frozenset[int]
) -> frozenset[int]:
    """Ask who leads `topics` if the cluster names other brokers than `before`; return those that it names now.

    It is asked, too, as long as a partition has no leader: of slots that nobody writes to nobody would hear otherwise.
    Raises BrokerUnavailable.
    """
    listed, both = listed_brokers(metadata), (topics.state, topics.groups)
    leaders = (metadata.leader_of(each.topic_id, n) for each in both for n in range(topics.slot_count))
    if listed != before or any(leader is not None and leader.leader_id < 0 for leader in leaders):
        await metadata.missing_topics({each.topic_id: each.name for each in both})
    return listed
