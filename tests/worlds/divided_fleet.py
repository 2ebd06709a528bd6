"""Several processes that serve share groups together, each over ports in memory, beside one that serves them all.

What befalls a group befalls its owner and `one`, which so answers as the fleet should. Processes have a cluster each,
with the same topics and records.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kproxy.errors import CoordinatorLoadInProgress, CoordinatorNotAvailable, NotCoordinator
from kproxy.fleet.owners import Peer
from kproxy.handlers.administration_bounds import AdministrationBounds
from kproxy.handlers.authorization import ALLOW_ALL, Authorizer
from kproxy.handlers.fleet.fleet_apis import FleetApis
from kproxy.handlers.fleet.peer_group_ids import PeerGroupIds
from kproxy.handlers.fleet.ports import FleetPorts
from kproxy.handlers.registry import Apis
from kproxy.handlers.request_context import RequestContext
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.net.side_by_side import TasksSideBySide
from kproxy.wire import codecs
from kproxy.wire.codecs import DecodedRequest, Message
from tests.in_memory.breakable_group_log import BreakableGroupLog
from tests.in_memory.in_memory_share_state_store import InMemoryShareStateStore
from tests.worlds.share_group_world import ORDERS, PAYMENTS, ShareGroupWorld

NOBODY: Final = -1
"""The owner of groups whose slot nobody has for the moment."""
PARTITIONS: Final = 2


class OwnedGroupLog(BreakableGroupLog):
    """A `GroupLog` that serves the groups of `owner`; all of them if that is None. What nobody owns is being moved."""

    def __init__(self, owner_of: Mapping[str, int], owner: int | None) -> None:
        super().__init__()
        self._owner_of = owner_of
        self._owner = owner

    def require_ready(self, group_id: str) -> None:
        super().require_ready(group_id)
        owner = self._owner_of.get(group_id, 0)
        if owner == NOBODY:
            raise CoordinatorLoadInProgress("the slot is on its way")
        if self._owner not in {owner, None}:
            raise NotCoordinator(f"process {owner} serves group {group_id!r}")

    def require_all_ready(self) -> None:
        super().require_ready("")
        if NOBODY in self._owner_of.values():
            raise CoordinatorLoadInProgress("a slot is on its way")


def a_process(
    owner_of: Mapping[str, int],
    owner: int | None,
    bounds: AdministrationBounds,
    authorizer: Authorizer = ALLOW_ALL,
) -> ShareGroupWorld:
    """Return a process that serves what `owner` has, with the topics and records that all see."""
    world = ShareGroupWorld(limits=ShareGroupLimits(administration=bounds), authorizer=authorizer)
    world.group_log = OwnedGroupLog(owner_of, owner)
    world.share_state_store = InMemoryShareStateStore(world.state_log.memory)
    world.groups = world.new_process()
    world.metadata.create_topic("orders", ORDERS, partition_count=PARTITIONS)
    world.metadata.create_topic("payments", PAYMENTS)
    for topic_id, partition in ((ORDERS, 0), (ORDERS, 1), (PAYMENTS, 0)):
        world.produce(10, topic_id=topic_id, partition=partition)
    world.namespace.foreign_ids = {"classic"}
    return world


@dataclass(slots=True)
class ServedInProcess:
    """A `PeerRequests` that goes by the bytes of the wire to the other process's handlers.

    Peers in `unreachable` cannot be asked. `asked` are the requests, in order, with the name of the peer.
    """

    apis: Mapping[str, Apis] = field(default_factory=dict)
    unreachable: set[str] = field(default_factory=set)
    asked: list[tuple[str, DecodedRequest]] = field(default_factory=list)
    contexts: list[RequestContext] = field(default_factory=list)
    hold: asyncio.Event | None = None
    """Peers answer when it is set."""
    fault: Exception | None = None
    """What is raised by mistake instead of an answer."""
    altered: Callable[[Message], Message] = lambda answer: answer
    """Makes another answer of a peer's."""

    async def ask(self, peer: Peer, request: DecodedRequest, context: RequestContext) -> Message:
        self.asked.append((peer.name, request))
        self.contexts.append(context)
        if peer.token in self.unreachable:
            raise CoordinatorNotAvailable(f"{peer.name} does not answer")
        if self.fault is not None:
            raise self.fault
        if self.hold is not None:
            await self.hold.wait()
        key_and_version = (request.api_key, request.api_version)
        sent = codecs.encode_request(
            *key_and_version, request.correlation_id, request.client_id, request.message
        )
        arrived = codecs.decode_request(_frame(sent))
        answer = self.altered(
            await self.apis[peer.token].serve(arrived, replace(context, connection_id=1_000))
        )
        returned = codecs.encode_response(*key_and_version, request.correlation_id, answer)
        return codecs.decode_response(*key_and_version, _frame(returned))[1]


@dataclass(slots=True)
class OwnersSeenBy:
    """The `GroupOwners` of process `viewer`."""

    viewer: int
    owner_of: Mapping[str, int]
    peers_by_number: Sequence[Peer]
    looked_up: list[str] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    """The names of peers that serve nothing any more."""

    def peer_of_group(self, group_id: str) -> Peer | None:
        self.looked_up.append(group_id)
        owner = self.owner_of.get(group_id, 0)
        return None if owner in {NOBODY, self.viewer} else self.peers_by_number[owner]

    def peers(self) -> Sequence[Peer]:
        others = [peer for number, peer in enumerate(self.peers_by_number) if number != self.viewer]
        return [peer for peer in others if peer.name not in self.gone]


class DividedFleet:
    """`count` processes. `owner_of` says by group whose it is; of groups that are not in there it is the first's."""

    def __init__(
        self,
        count: int,
        owner_of: Mapping[str, int],
        bounds: AdministrationBounds | None = None,
        authorizer: Authorizer = ALLOW_ALL,
    ) -> None:
        bounds = bounds or AdministrationBounds()
        self.owner_of = owner_of
        self.one = a_process(owner_of, None, bounds, authorizer)
        self.processes = [a_process(owner_of, number, bounds, authorizer) for number in range(count)]
        self.peers = [Peer(f"token-{n}", f"kproxy-{n}", "127.0.0.1", 19_099 + n) for n in range(count)]
        self.requests = ServedInProcess(
            {peer.token: each.groups.apis for peer, each in zip(self.peers, self.processes, strict=True)}
        )
        self.owners = [OwnersSeenBy(number, owner_of, self.peers) for number in range(count)]
        self.faults: list[Exception] = []
        self.peer_ids = [self._peer_ids(number) for number in range(count)]
        self.apis = [
            FleetApis(
                process.groups.apis,
                self._ports(number),
                self.peer_ids[number],
                bounds=bounds,
                on_internal_error=lambda _, fault: self.faults.append(fault),
            )
            for number, process in enumerate(self.processes)
        ]

    def worlds_of(self, group_id: str) -> list[ShareGroupWorld]:
        """Return the processes that have a group: `one` and its owner, or nobody."""
        owner = self.owner_of.get(group_id, 0)
        return [] if owner == NOBODY else [self.one, self.processes[owner]]

    async def answers(
        self, message: Message, api_key: int, version: int, *, via: int = 0
    ) -> tuple[Message, Message]:
        """Return what the process `via` answers, and what `one` does."""
        answer = await self.answer(message, api_key, version, via=via)
        assert not self.faults, self.faults
        request = DecodedRequest(api_key, version, 7, "client", message)
        return answer, await self.one.groups.apis.serve(request, a_context(api_key, version))

    async def answer(
        self,
        message: Message,
        api_key: int,
        version: int,
        *,
        via: int = 0,
        context: RequestContext | None = None,
    ) -> Message:
        """Return what the process `via` answers."""
        request = DecodedRequest(api_key, version, 7, "client", message)
        return await self.apis[via].serve(request, context or a_context(api_key, version))

    def _ports(self, number: int) -> FleetPorts:
        observer = self.processes[number].observer
        return FleetPorts(self.owners[number], self.requests, TasksSideBySide(), observer)

    def _peer_ids(self, number: int) -> PeerGroupIds:
        return PeerGroupIds(self.processes[number].groups.coordinator.known_ids, self._ports(number))


async def a_group_with_a_member(world: ShareGroupWorld, group_id: str) -> None:
    """Somebody has joined, and is assigned the partitions of `orders`."""
    await world.member(f"member-of-{group_id}", group_id=group_id).heartbeat(0, ["orders"])


async def a_group_that_left_off(world: ShareGroupWorld, group_id: str) -> None:
    """Its only member has accepted three records of either partition of `orders`, and left."""
    world.configure("share.auto.offset.reset", "earliest", group_id=group_id)
    member = world.member(f"member-of-{group_id}", group_id=group_id)
    await member.heartbeat(0, ["orders"])
    await member.open((ORDERS, 0), (ORDERS, 1), max_records=10)
    await member.acknowledge({(ORDERS, 0): [(0, 2, [1])]})
    await member.acknowledge(epoch=-1)
    await member.heartbeat(-1)


async def configurations_without_a_group(world: ShareGroupWorld, group_id: str) -> None:
    """Somebody has configured a group that does not exist."""
    world.configure("share.record.lock.duration.ms", "20000", group_id=group_id)


async def no_group(world: ShareGroupWorld, group_id: str) -> None:
    """Nobody has heard of it."""
    del world, group_id


PASTS: Final[Sequence[Callable[[ShareGroupWorld, str], Coroutine[object, object, None]]]] = (
    a_group_with_a_member,
    a_group_that_left_off,
    configurations_without_a_group,
    no_group,
)
"""What may have befallen a group."""


def a_context(api_key: int, version: int) -> RequestContext:
    """A client on a connection to the port of broker 1."""
    return RequestContext(3, 1, api_key, version, "client", "/127.0.0.1")


def bytes_of(answer: Message, api_key: int, version: int) -> bytes:
    """Return an answer as its client gets it."""
    return b"".join(codecs.encode_response(api_key, version, 7, answer))


def _frame(chunks: Sequence[bytes | memoryview]) -> memoryview:
    return memoryview(b"".join(chunks))[4:]
