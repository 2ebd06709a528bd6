"""Share groups over in-memory ports, and members that speak to them as clients do."""

from collections.abc import Collection, Mapping, Sequence
from itertools import count
from typing import Final, TypeVar

from kproxy.error_codes import ErrorCode
from kproxy.handlers.asked_rights import AskedRights
from kproxy.handlers.authorization import ALLOW_ALL, Authorizer
from kproxy.handlers.callers import PATIENT_CALLER, Caller
from kproxy.handlers.groups.group_configs import ConfigChange, ConfigOperation
from kproxy.handlers.groups.group_coordinators import GroupNamespace
from kproxy.handlers.live.share_partitions import SharePartitionDirectory
from kproxy.handlers.readiness import AlwaysReady, Readiness
from kproxy.handlers.request_context import UNLIMITED_ANSWERS, AnswerBudget, RequestContext
from kproxy.handlers.share_groups import ShareGroupLimits, ShareGroupPorts, ShareGroups
from kproxy.handlers.share_state_store import ShareStateStore
from kproxy.net.background import BackgroundTasks
from kproxy.net.tasks import TaskKeeper
from kproxy.security.principal import ANONYMOUS, Principal
from kproxy.share.heartbeat import PartitionInitialization
from kproxy.share.identifiers import GroupId, SharePartitionKey, StateEpoch, TopicId, TopicIdPartition
from kproxy.share.share_partition import SharePartition
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages import share_acknowledge_request, share_fetch_request
from kproxy.wire.messages.share_acknowledge_request import ShareAcknowledgeRequest
from kproxy.wire.messages.share_acknowledge_response import ShareAcknowledgeResponse
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from kproxy.wire.messages.share_fetch_response import PartitionData, ShareFetchResponse
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from tests.in_memory.breakable_group_log import BreakableGroupLog
from tests.in_memory.breakable_state_log import BreakableStateLog
from tests.in_memory.in_memory_availability import InMemoryAvailability
from tests.in_memory.in_memory_backlogs import InMemoryBacklogs
from tests.in_memory.in_memory_cluster_metadata import InMemoryClusterMetadata
from tests.in_memory.in_memory_waits import InMemoryWaits
from tests.in_memory.manual_clock import ManualClock
from tests.in_memory.recording_observer import RecordingAlarm, RecordingObserver
from tests.in_memory.scripted_caller import ScriptedCaller
from tests.in_memory.scripted_partition_reader import InMemoryLog, ScriptedPartitionReader
from tests.in_memory.unchecked_group_namespace import UncheckedGroupNamespace
from tests.worlds.lost_slots import lose_groups
from tests.worlds.set_configurations import set_configs
from tests.worlds.waiting import until_all_wait

ORDERS: Final = TopicId(b"topic-id-orders.")
PAYMENTS: Final = TopicId(b"topic-id-payment")
NO_SUCH_TOPIC: Final = TopicId(b"topic-id-unknown")
WALL_CLOCK_MS: Final = 1_700_000_000_000

Acks = Mapping[tuple[TopicId, int], Sequence[tuple[int, int, Sequence[int]]]]
"""By topic and partition: first offset, last offset, types."""
R = TypeVar("R", bound=Message)


class ShareGroupWorld:
    """Everything behind the sockets. With `passes_time` a wait moves the clock by itself."""

    def __init__(
        self,
        *,
        limits: ShareGroupLimits | None = None,
        node_ids: Sequence[int] = (1,),
        passes_time: bool = True,
        authorizer: Authorizer = ALLOW_ALL,
    ) -> None:
        self.authorizer = authorizer
        self.clock = ManualClock(now_ms=1_000)
        self.wall_clock = ManualClock(now_ms=WALL_CLOCK_MS)
        self.metadata = InMemoryClusterMetadata(node_ids)
        self.reader = ScriptedPartitionReader()
        self.availability = InMemoryAvailability(self.clock, passes_time=passes_time)
        self.waits = InMemoryWaits(self.clock, passes_time=passes_time)
        self.state_log = BreakableStateLog()
        self.group_log = BreakableGroupLog()
        self.backlogs = InMemoryBacklogs()
        self.alarm = RecordingAlarm()
        self.namespace = UncheckedGroupNamespace()
        self.background = BackgroundTasks(TaskKeeper())
        self.observer = RecordingObserver()
        self.faults: list[Exception] = []
        self.answer_budget: AnswerBudget = UNLIMITED_ANSWERS
        self.share_state_store: ShareStateStore | None = None
        """What the next process serves as the share coordinator."""
        self._limits = limits or ShareGroupLimits()
        self.groups = self.new_process()
        self.metadata.on_topics.append(self._topics_moved)
        self.metadata.create_topic("orders", ORDERS)
        self._connection_ids = count(1)

    def new_process(
        self, namespace: GroupNamespace | None = None, *, readiness: Readiness | None = None
    ) -> ShareGroups:
        """Return share groups that know nothing, over the same ports."""
        groups = ShareGroups(
            ShareGroupPorts(
                state_log=self.state_log,
                group_log=self.group_log,
                reader=self.reader,
                metadata=self.metadata,
                availability=self.availability,
                alarm=self.alarm,
                clock=self.clock,
                wall_clock=self.wall_clock,
                observer=self.observer,
                background=self.background,
                waits=self.waits,
                namespace=namespace or self.namespace,
                offset_store=self.state_log,
                backlogs=self.backlogs,
                readiness=readiness or AlwaysReady(),
                authorizer=self.authorizer,
                share_state_store=self.share_state_store,
            ),
            self._limits,
            on_internal_error=lambda _, fault: self.faults.append(fault),
        )
        groups.apis.set_available()
        return groups

    def _topics_moved(self, topic_ids: Collection[TopicId]) -> None:
        self.groups.topics_moved(topic_ids)

    def restart(self) -> None:
        """Begin anew with nothing but what is durable, as a process does that was killed."""
        self.groups = self.new_process()
        self.restore_groups()

    def restore_groups(self) -> None:
        """Do what the shell does when the one slot of all groups was loaded."""
        self.group_log.store = store = self.group_log.replayed()
        lose_groups(self.groups, (*self.groups.coordinator.group_ids, *self.groups.configs.known_ids))
        self.groups.restore_groups(store.durable_images().values(), store.configs())

    def discard(self, keys: Collection[SharePartitionKey]) -> None:
        """Do what a refused write does with what is live of it."""
        for key in keys:
            self.groups.directory.discard(key)

    def new_connection(self) -> int:
        return next(self._connection_ids)

    def log(self, topic_id: TopicId = ORDERS, partition: int = 0) -> InMemoryLog:
        log = self.backlogs.logs[TopicIdPartition(topic_id, partition)] = self.reader.log(topic_id, partition)
        return log

    def produce(
        self, record_count: int, *, topic_id: TopicId = ORDERS, partition: int = 0, size_bytes: int = 8
    ) -> None:
        """Append one batch of `record_count` records, and let those who wait for it know."""
        self.log(topic_id, partition).append([b"x" * size_bytes] * record_count)
        self.tell_of_records(topic_id, partition)

    def tell_of_records(self, topic_id: TopicId = ORDERS, partition: int = 0) -> None:
        """Let those who wait know how far they may read by now."""
        log = self.log(topic_id, partition)
        ends = log.high_watermark, log.last_stable_offset
        self.availability.raise_high_watermark(topic_id, partition, *ends)

    async def initialize(
        self, group_id: str = "g", *, topic_id: TopicId = ORDERS, partition: int = 0, start_offset: int = 0
    ) -> SharePartitionKey:
        """Do what a heartbeat does for a share-partition, with a start offset of the test's choice."""
        key = self.key(group_id, topic_id=topic_id, partition=partition)
        await self.state_log.initialize([PartitionInitialization(key, StateEpoch(1), start_offset)])
        return key

    @staticmethod
    def key(group_id: str = "g", *, topic_id: TopicId = ORDERS, partition: int = 0) -> SharePartitionKey:
        return SharePartitionKey(GroupId(group_id), topic_id, partition)

    def configure(self, name: str, value: str, *, group_id: str = "g") -> None:
        """Let a group have set a configuration."""
        set_configs(self.groups.configs, group_id, ConfigChange(name, ConfigOperation.SET, value))

    def member(self, member_id: str = "alice", *, group_id: str = "g", node_id: int = 1) -> "Member":
        return Member(self, member_id, group_id=group_id, node_id=node_id)

    async def serve(
        self,
        message: Message,
        api_key: int,
        version: int,
        *,
        node_id: int = 1,
        connection_id: int = 0,
        caller: Caller = PATIENT_CALLER,
        principal: Principal = ANONYMOUS,
        rights: AskedRights | None = None,
    ) -> Message:
        context = RequestContext(
            connection_id=connection_id,
            node_id=node_id,
            api_key=api_key,
            api_version=version,
            client_id="client",
            client_host="/127.0.0.1",
            answer_budget=self.answer_budget,
            caller=caller,
            principal=principal,
            rights=rights,
        )
        answer = await self.groups.apis.serve(DecodedRequest(api_key, version, 1, "client", message), context)
        assert not self.faults, self.faults
        return answer

    async def expire(self) -> None:
        """Do what the alarm does when it rings."""
        await self.groups.expire(self.clock.now_ms())


async def world_with_orders(
    *, passes_time: bool = True, partition_count: int = 1, limits: ShareGroupLimits | None = None
) -> ShareGroupWorld:
    """Return a world whose topic `orders` has so many partitions, all initialized."""
    world = ShareGroupWorld(passes_time=passes_time, limits=limits)
    world.metadata.create_topic("orders", ORDERS, partition_count=partition_count)
    for partition in range(partition_count):
        await world.initialize(partition=partition)
    return world


class Member:
    """A client on one connection to one port. It counts its session epochs, and sends version 2."""

    def __init__(self, world: ShareGroupWorld, member_id: str, *, group_id: str, node_id: int) -> None:
        self.world = world
        self.member_id = member_id
        self.group_id = group_id
        self.node_id = node_id
        self.connection_id = world.new_connection()
        self.session_epoch = 0
        self.version = 2
        self.caller = ScriptedCaller()
        self.principal = ANONYMOUS
        self.rights: AskedRights | None = None

    async def heartbeat(
        self, epoch: int, topics: Sequence[str] | None = None, *, rack_id: str | None = None
    ) -> ShareGroupHeartbeatResponse:
        request = ShareGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=epoch,
            rack_id=rack_id,
            subscribed_topic_names=None if topics is None else list(topics),
        )
        return await self._serve(request, ApiKey.SHARE_GROUP_HEARTBEAT, 1, ShareGroupHeartbeatResponse)

    async def open(
        self, *partitions: tuple[TopicId, int], max_wait_ms: int = 0, max_records: int = 0
    ) -> ShareFetchResponse:
        """Open a session, without records unless the test wants some."""
        self.session_epoch, add = 0, partitions or ((ORDERS, 0),)
        return await self.fetch(add=add, max_wait_ms=max_wait_ms, max_records=max_records)

    async def fetch(
        self,
        *,
        add: Sequence[tuple[TopicId, int]] = (),
        acks: Acks | None = None,
        forget: Sequence[tuple[TopicId, int]] = (),
        max_wait_ms: int = 500,
        min_bytes: int = 1,
        max_bytes: int = 1 << 20,
        max_records: int = 500,
        batch_size: int = 500,
        mode: int = 0,
        is_renew_ack: bool = False,
        epoch: int | None = None,
    ) -> ShareFetchResponse:
        request = ShareFetchRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            share_session_epoch=self.session_epoch if epoch is None else epoch,
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            max_bytes=max_bytes,
            max_records=max_records,
            batch_size=batch_size,
            share_acquire_mode=mode,
            is_renew_ack=is_renew_ack,
            topics=_fetch_topics(add, acks or {}),
            forgotten_topics_data=[
                share_fetch_request.ForgottenTopic(topic_id, [partition]) for topic_id, partition in forget
            ],
        )
        answer = await self._serve(request, ApiKey.SHARE_FETCH, self.version, ShareFetchResponse)
        self._count(answer.error_code, epoch)
        return answer

    async def acknowledge(
        self, acks: Acks | None = None, *, epoch: int | None = None, is_renew_ack: bool = False
    ) -> ShareAcknowledgeResponse:
        request = ShareAcknowledgeRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            share_session_epoch=self.session_epoch if epoch is None else epoch,
            is_renew_ack=is_renew_ack,
            topics=_acknowledge_topics(acks or {}),
        )
        answer = await self._serve(request, ApiKey.SHARE_ACKNOWLEDGE, self.version, ShareAcknowledgeResponse)
        self._count(answer.error_code, epoch)
        return answer

    async def disconnect(self) -> None:
        """Lose the connection; the next one is another."""
        self.caller.is_gone = True
        self.caller = ScriptedCaller()
        await self.world.groups.apis.connection_closed(self.connection_id)
        self.connection_id = self.world.new_connection()

    def _count(self, error_code: int, epoch: int | None) -> None:
        if error_code == ErrorCode.NONE and epoch is None:
            self.session_epoch += 1

    async def _serve(self, request: Message, api_key: int, version: int, expected: type[R]) -> R:
        answer = await self.world.serve(
            request,
            api_key,
            version,
            node_id=self.node_id,
            connection_id=self.connection_id,
            caller=self.caller,
            principal=self.principal,
            rights=self.rights,
        )
        assert isinstance(answer, expected)
        return answer


def _fetch_topics(add: Sequence[tuple[TopicId, int]], acks: Acks) -> list[share_fetch_request.FetchTopic]:
    topics = []
    for topic_id, partition in dict.fromkeys([*add, *acks]):
        batches = [
            share_fetch_request.AcknowledgementBatch(first, last, list(types))
            for first, last, types in acks.get((topic_id, partition), ())
        ]
        named = share_fetch_request.FetchPartition(partition, acknowledgement_batches=batches)
        topics.append(share_fetch_request.FetchTopic(topic_id, [named]))
    return topics


def _acknowledge_topics(acks: Acks) -> list[share_acknowledge_request.AcknowledgeTopic]:
    topics = []
    for (topic_id, partition), said in acks.items():
        batches = [
            share_acknowledge_request.AcknowledgementBatch(first, last, list(types))
            for first, last, types in said
        ]
        named = share_acknowledge_request.AcknowledgePartition(partition, batches)
        topics.append(share_acknowledge_request.AcknowledgeTopic(topic_id, [named]))
    return topics


async def loaded(directory: SharePartitionDirectory, key: SharePartitionKey) -> SharePartition:
    """Load a share-partition unless it is live; return it. Raises why it cannot be loaded."""
    while (found := directory.find(key)) is None:
        load = directory.begin_load(key)
        while not load.is_over:
            await until_all_wait(1)
        if load.failure is not None:
            raise load.failure
    return found


def partitions_of(answer: ShareFetchResponse) -> dict[tuple[TopicId, int], PartitionData]:
    """Return what the answer says of each partition."""
    return {
        (TopicId(topic.topic_id), partition.partition_index): partition
        for topic in answer.responses
        for partition in topic.partitions
    }


def acquired(
    answer: ShareFetchResponse, topic_id: TopicId = ORDERS, partition: int = 0
) -> list[tuple[int, int, int]]:
    """Return first offset, last offset and delivery count of what was acquired from a partition."""
    data = partitions_of(answer).get((topic_id, partition))
    runs = [] if data is None else data.acquired_records
    return [(run.first_offset, run.last_offset, run.delivery_count) for run in runs]


def acknowledge_errors(answer: ShareAcknowledgeResponse) -> dict[tuple[TopicId, int], int]:
    """Return the error code of each partition that was acknowledged."""
    return {
        (TopicId(topic.topic_id), partition.partition_index): partition.error_code
        for topic in answer.responses
        for partition in topic.partitions
    }


def assigned(answer: ShareGroupHeartbeatResponse) -> dict[bytes, list[int]] | None:
    """Return the partitions by topic, None when the answer carries no assignment."""
    told = answer.assignment
    return None if told is None else {topic.topic_id: topic.partitions for topic in told.topic_partitions}
