"""`Inspectable`: share groups, sessions, records in flight and a state log, to be looked into on a real admin port."""

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import urlopen

from kproxy.admin.activity.own_events import OwnEvents
from kproxy.admin.cluster.broker_views import KnownBrokerView
from kproxy.admin.cluster.slot_places import UNKNOWN_PLACE, SlotPlaceView
from kproxy.admin.fleet.fleet_answers import FleetAnswers
from kproxy.admin.fleet.peer_events import PeerEvents
from kproxy.admin.inspection import Inspection
from kproxy.admin.json_stream import JsonStreams
from kproxy.admin.local_answers import Inspected, LocalAnswers
from kproxy.admin.operators.performance import Operators, Performance
from kproxy.admin.operators.routes import OperatorRoutes
from kproxy.admin.peer_views import Alone, PeerViews, SlotOwners
from kproxy.admin.readiness import Readiness
from kproxy.admin.server import AdminServer
from kproxy.admin.share_views import ClientHosts, ClientIds
from kproxy.errors import CoordinatorLoadInProgress
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.live.member_clients import clients_in_heartbeats
from kproxy.handlers.live.share_counters import GroupCounts
from kproxy.handlers.ports import TopicDescription
from kproxy.net.background import BackgroundTasks
from kproxy.net.tasks import TaskKeeper
from kproxy.settings import HostPort
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.heartbeat import Heartbeat, TopicPartitions
from kproxy.share.identifiers import (
    GroupId,
    LeaderEpoch,
    MemberId,
    SharePartitionKey,
    SnapshotEpoch,
    StateEpoch,
    TopicId,
    TopicIdPartition,
)
from kproxy.share.limits import GroupLimits, ShareLimits
from kproxy.share.record_state import UNDELIVERABLE_STATES
from kproxy.share.share_partition import SharePartition
from kproxy.share.share_session import ShareSessionCache, ShareSessionKey, ShareSessionLimits
from kproxy.share.state_batches import StateBatch
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.slot_status import AppliedStates, SlotState, SlotStatus
from kproxy.telemetry.metrics import Metrics
from tests.in_memory.described_answers import require_described
from tests.in_memory.in_memory_backlogs import InMemoryBacklogs
from tests.in_memory.manual_clock import ManualClock
from tests.worlds.share_builders import keys_of

ORDERS: Final = TopicId(b"topic-id-orders.")
ORDERS_TEXT: Final = "dG9waWMtaWQtb3JkZXJzLg"
PAYMENTS: Final = TopicId(b"topic-id-payment")
STATE_TOPIC: Final = TopicDescription(TopicId(b"topic-id-states."), "__kproxy_share_state", 2)
SOON_S: Final = 0.01
"""Between two looks for events."""
NOON_MS: Final = 1_795_262_400_000


class InMemoryStateLogSlots:
    """Slots whose states a test puts there. Serves as `StateLogSlots`."""

    def __init__(self) -> None:
        self.slots: list[SlotStatus] = []
        self.written: dict[int, dict[SharePartitionKey, DurableShareState]] = {}
        self.problem = ""

    def add(self, partition: int, state: SlotState = SlotState.READY, *, reason: str = "") -> None:
        self.written[partition] = {}
        status = SlotStatus(
            partition=partition,
            state=state,
            reason=reason,
            claim_epoch=40,
            applied_offset=57,
            recovery_point=41,
            key_count=0,
            waiting_count=2,
        )
        self.slots.append(status)

    def statuses(self) -> Sequence[SlotStatus]:
        return self.slots

    def states(self, number: int) -> AppliedStates:
        if number not in self.written:
            raise IndexError(number)
        return AppliedStates(57, dict(self.written[number]))

    def state_of(self, key: SharePartitionKey) -> DurableShareState | None:
        if self.problem:
            raise CoordinatorLoadInProgress(self.problem)
        return next((states[key] for states in self.written.values() if key in states), None)


class InMemorySharePartitions(dict[SharePartitionKey, SharePartition]):
    """Live share-partitions. Serves as `LiveSharePartitions`; `reasons` are those of others."""

    def __init__(self) -> None:
        super().__init__()
        self.reasons: dict[SharePartitionKey, str] = {}

    def why_not_live(self, key: SharePartitionKey) -> str:
        return self.reasons.get(key, "")

    def find(self, key: SharePartitionKey) -> SharePartition | None:
        return self.get(key)


class Inspectable:
    """What a test fills and then looks into through `server`, whose monotonic clock shows 1,000 ms."""

    def __init__(self, *, streams: JsonStreams | None = None) -> None:
        self.coordinator = GroupCoordinator()
        self.sessions = ShareSessionCache(ShareSessionLimits(max_share_sessions=1000))
        self.live: Any = InMemorySharePartitions()
        self.state_log = InMemoryStateLogSlots()
        self.topic_names: Mapping[TopicId, str] = {ORDERS: "orders"}
        self.partition_counts: Mapping[TopicId, int] = {ORDERS: 2}
        self.clock = ManualClock(1_000)
        self.streams = streams
        self.has_state_log = True
        self.backlogs = InMemoryBacklogs()
        self.unavailable = ""
        """Why share groups are not served."""
        self.owners: SlotOwners = Alone()
        self.peer_views: PeerViews = Alone()
        self.metrics = Metrics()
        self.counts: dict[GroupId, GroupCounts] = {}
        """What happened to the records of groups."""
        self.brokers: list[KnownBrokerView] = []
        self.places: dict[int, SlotPlaceView] = {}
        """Where slots are, by number."""
        self.operators: Operators | None = None
        """Does what operators ask for, where they may ask."""
        self.is_guarded = True
        self.limits = ShareLimits()
        self.isolation = IsolationLevel.READ_UNCOMMITTED
        self._own_events: OwnEvents | None = None

    def inspected(self) -> Inspected:
        return Inspected(
            coordinator=self.coordinator,
            sessions=self.sessions,
            directory=self.live,
            topic_name=self.topic_names.get,
            partition_count=self.partition_counts.get,
            client_id=clients_in_heartbeats_of(self.coordinator),
            client_host=hosts_in_heartbeats_of(self.coordinator),
            clock=self.clock,
            wall_clock=ManualClock(NOON_MS),
            state_log=lambda: self.state_log if self.has_state_log else None,
            state_topic=lambda: STATE_TOPIC if self.has_state_log else None,
            cluster_id=lambda: "cluster-1",
            backlogs=self.backlogs,
            background=BackgroundTasks(TaskKeeper()),
            limits_of=lambda _: self.limits,
            isolation_of=lambda _: self.isolation,
            unavailable=lambda: self.unavailable,
            owners=self.owners,
            counts=lambda group_id: self.counts.get(group_id) or GroupCounts(),
            brokers=lambda: self.brokers,
            slot_place=lambda number: self.places.get(number, UNKNOWN_PLACE),
        )

    def inspection(self) -> Inspection:
        local = LocalAnswers(self.inspected())
        performance = self.performance(local)
        actions = None if performance is None else OperatorRoutes(performance, is_guarded=self.is_guarded)
        return Inspection(
            local,
            self.answers(local),
            own_events=self.own_events(),
            peer_events=PeerEvents(
                self.owners,
                self.peer_views,
                background=local.background,
                metrics=self.metrics,
                interval_s=SOON_S,
                again_s=SOON_S,
            ),
            streams=self.streams,
            actions=actions,
        )

    def own_events(self) -> OwnEvents:
        """Return what happens here, always the same: who listens and who asks share it."""
        if self._own_events is None:
            local = LocalAnswers(self.inspected())
            self._own_events = OwnEvents(
                local.picture,
                background=local.background,
                process=lambda: self.owners.own_name,
                interval_s=SOON_S,
            )
        return self._own_events

    def performance(self, local: LocalAnswers | None = None) -> Performance | None:
        if self.operators is None:
            return None
        return Performance(
            local or LocalAnswers(self.inspected()),
            self.operators,
            owners=self.owners,
            peer_views=self.peer_views,
            wall_clock=ManualClock(NOON_MS),
            metrics=self.metrics,
        )

    def answers(self, local: LocalAnswers | None = None) -> FleetAnswers:
        return FleetAnswers(
            local or LocalAnswers(self.inspected()),
            self.owners,
            self.peer_views,
            wall_clock=ManualClock(NOON_MS),
            metrics=self.metrics,
        )

    def server(self) -> AdminServer:
        return AdminServer(
            HostPort("127.0.0.1", 0),
            metrics=Metrics(),
            readiness=Readiness({}),
            status=lambda: {"version": "0.1.0"},
            inspection=self.inspection(),
            now_ms=lambda: NOON_MS,
        )

    def know_broker(self, node_id: int, **facts: Any) -> None:
        """Let there be a broker, reached and listed unless `facts` say otherwise."""
        view = KnownBrokerView(
            node_id=node_id,
            rack=f"rack-{node_id}",
            upstream=f"broker{node_id}:9092",
            is_listed=True,
            advertised=f"127.0.0.1:{19100 + node_id}",
            tls_advertised="",
            is_connected=True,
            own_connections=2,
            client_connections=0,
            last_error="",
            last_error_age_ms=None,
        )
        self.brokers.append(replace(view, **facts))

    def join(self, member_id: str, *, group_id: str = "workers", client_id: str = "client-1") -> None:
        """Let a member join a group and be assigned both partitions of the topic orders."""
        heartbeat = Heartbeat(
            group_id=GroupId(group_id),
            member_id=MemberId(member_id),
            member_epoch=0,
            rack_id=None,
            subscribed_topic_names=("orders",),
            client_id=client_id,
            client_host="/10.0.0.7",
        )
        limits = GroupLimits()
        topics = {"orders": TopicPartitions(ORDERS, 2)}
        initializations = self.coordinator.admit(heartbeat, topics=topics, limits=limits, now_ms=0)
        self.coordinator.initialized(heartbeat.group_id, keys_of(initializations))
        self.coordinator.answer(heartbeat, limits=limits, now_ms=0)

    def leave(self, member_id: str, *, group_id: str = "workers") -> None:
        heartbeat = Heartbeat(GroupId(group_id), MemberId(member_id), -1, None, None, "client-1", "/10.0.0.7")
        self.coordinator.leave(heartbeat, now_ms=0)

    def open_session(
        self,
        member_id: str,
        *partitions: tuple[TopicId, int],
        group_id: str = "workers",
        node_id: int = 1,
        principal: str = "User:ANONYMOUS",
    ) -> None:
        """Open a share session whose last request came at 0 ms."""
        self.sessions.open(
            ShareSessionKey(node_id, GroupId(group_id), MemberId(member_id)),
            connection_id=len(self.sessions) + 1,
            partitions=[TopicIdPartition(topic_id, number) for topic_id, number in partitions],
            has_acknowledgements=False,
            principal=principal,
        )

    def share_partition(
        self,
        *state_batches: StateBatch,
        group_id: str = "workers",
        topic_id: TopicId = ORDERS,
        partition: int = 0,
        start_offset: int = 100,
    ) -> SharePartition:
        key = SharePartitionKey(GroupId(group_id), topic_id, partition)
        made = SharePartition(
            key, start_offset=start_offset, state_batches=state_batches, limits=ShareLimits()
        )
        self.live[key] = made
        return made

    def write_state(
        self, partition: int, *state_batches: StateBatch, start_offset: int, group_id: str = "workers"
    ) -> None:
        """Let the state log have a share-partition of orders, with nothing in flight but what is said."""
        slot = len(self.state_log.slots)
        self.state_log.add(slot)
        key = SharePartitionKey(GroupId(group_id), ORDERS, partition)
        done = sum(
            batch.last_offset + 1 - batch.first_offset
            for batch in state_batches
            if batch.state in UNDELIVERABLE_STATES
        )
        state = DurableShareState(
            StateEpoch(0), LeaderEpoch(0), SnapshotEpoch(0), start_offset, done, state_batches
        )
        self.state_log.written[slot][key] = state


def clients_in_heartbeats_of(coordinator: GroupCoordinator) -> ClientIds:
    """Return what tells the client ids of members, as far as their heartbeats do."""
    clients = clients_in_heartbeats(coordinator)
    return lambda group_id, member_id: clients(group_id, member_id).client_id


def hosts_in_heartbeats_of(coordinator: GroupCoordinator) -> ClientHosts:
    """Return what tells the addresses of members' clients, as far as their heartbeats do."""
    clients = clients_in_heartbeats(coordinator)
    return lambda group_id, member_id: clients(group_id, member_id).client_host


def acquire(
    share_partition: SharePartition, member_id: str, first_offset: int, last_offset: int, *, now_ms: int = 0
) -> None:
    """Let a member acquire these offsets, at 0 ms unless told: the locks end at 30,000 then."""
    share_partition.acquire(
        MemberId(member_id),
        [(first_offset, last_offset)],
        fetch_offset=first_offset,
        max_records=last_offset - first_offset + 1,
        batch_size=500,
        is_record_limit=False,
        now_ms=now_ms,
    )


@contextmanager
def serving(server: AdminServer) -> Iterator[str]:
    """Serve in a thread of its own; yield the URL."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result(10)
        yield f"http://{server.address}"
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


@dataclass
class Answer:
    """What the admin port answered."""

    status: int
    body: Any

    @property
    def items(self) -> list[Any]:
        found = self.body["items"]
        assert isinstance(found, list)
        return found

    @property
    def message(self) -> str:
        assert self.body["kind"] == "Error"
        assert self.items[0]["status"] == self.status
        return str(self.items[0]["message"])


def answer_to(inspectable: Inspectable, path: str) -> Answer:
    """Return what a GET of `path` is answered, as it is described."""
    with serving(inspectable.server()) as url:
        try:
            with urlopen(url + path, timeout=10) as response:
                answer = Answer(response.status, json.load(response))
        except HTTPError as refusal:
            with refusal:
                answer = Answer(refusal.code, json.load(refusal))
    require_described(answer.body)
    return answer
