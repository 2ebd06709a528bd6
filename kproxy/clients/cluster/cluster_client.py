"""Who of a cluster must be asked: any broker, all of them, the coordinator of a group, the leaders of partitions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

from kproxy.clients.cluster.access import IN_PLAINTEXT, ClusterAccess
from kproxy.clients.cluster.connection import BrokerAddress, BrokerConnection, ConnectionLost
from kproxy.clients.cluster.deadline import Deadline
from kproxy.clients.cluster.refusals import TryAgain, require_success
from kproxy.clients.failures import CannotConnect, ClientFailed
from kproxy.wire.codecs import Message
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import FindCoordinatorResponse
from kproxy.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kproxy.wire.messages.metadata_response import MetadataResponse, MetadataResponseTopic

R = TypeVar("R", bound=Message)
T = TypeVar("T")

_GROUP: Final = 0
_ONE_KEY_VERSION: Final = 3
"""The newest FindCoordinator that asks for one key; every broker from 2.8 on knows it."""
_OLDEST_METADATA: Final = 4
"""The oldest that can say not to create topics."""
_OLDEST_WITH_RIGHTS: Final = 8
"""The oldest Metadata that tells of rights."""


@dataclass(frozen=True, slots=True, order=True)
class Broker:
    """A broker of a cluster, as it is advertised."""

    node_id: int
    host: str
    port: int

    @property
    def address(self) -> BrokerAddress:
        """Where it listens."""
        return BrokerAddress(self.host, self.port)


class ClusterClient:
    """Connections to the brokers of one cluster, each made when it is needed, all closed by `connected_cluster`.

    Every method raises ClientFailed; ConnectionLost when a broker cannot be reached or does not answer.
    """

    def __init__(
        self,
        bootstrap_servers: Sequence[BrokerAddress],
        deadline: Deadline,
        access: ClusterAccess = IN_PLAINTEXT,
    ) -> None:
        self._bootstrap_servers = tuple(bootstrap_servers)
        self._deadline = deadline
        self._access = access
        self._connections: dict[BrokerAddress, BrokerConnection] = {}
        self._brokers: Mapping[int, Broker] = {}
        self._coordinators: dict[str, Broker] = {}

    def close(self) -> None:
        """Close every connection."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def brokers(self) -> Sequence[Broker]:
        """Return the brokers of the cluster, by node id."""
        self._look([])
        return sorted(self._brokers.values())

    def cluster_id(self) -> str:
        """Return the id of the cluster, as some broker tells it; empty where it tells none."""
        return self._look([]).cluster_id or ""

    def look(self, topic_names: Sequence[str]) -> MetadataResponse:
        """Return what some broker says of these topics; no topic is created. Is not tried again."""
        return self._look([MetadataRequestTopic(name=name) for name in topic_names])

    def rights(self, topic_names: Sequence[str]) -> Sequence[MetadataResponseTopic]:
        """Return what some broker says of these topics, with what this client may do there. Is not tried again."""
        topics = [MetadataRequestTopic(name=name) for name in topic_names]
        request = MetadataRequest(
            topics=topics, allow_auto_topic_creation=False, include_topic_authorized_operations=True
        )
        return self._any_connection().ask(request, MetadataResponse, oldest=_OLDEST_WITH_RIGHTS).topics

    def ask_any(self, request: Message, response_class: type[R]) -> R:
        """Return the answer of a broker of the bootstrap addresses. Is not tried again."""
        return self._any_connection().ask(request, response_class)

    def ask(self, broker: Broker, request: Message, response_class: type[R], *, oldest: int = 0) -> R:
        """Return the answer of this broker, in version `oldest` or a newer one. Is not tried again."""
        return self._connected(broker.address).ask(request, response_class, oldest=oldest)

    def broker(self, node_id: int) -> Broker | None:
        """Return a broker that the last look has seen."""
        return self._brokers.get(node_id)

    def coordinator_of(self, group_id: str) -> Broker:
        """Return the coordinator of a group, as far as it is known. Raises TryAgain while it is not."""
        if group_id not in self._coordinators:
            self._coordinators[group_id] = self._found_coordinator(group_id)
        return self._coordinators[group_id]

    def note_coordinator(self, group_id: str, coordinator: Broker) -> None:
        """Remember who said that a group is there."""
        self._coordinators[group_id] = coordinator

    def ask_coordinator(
        self, group_id: str, request: Message, response_class: type[R], *, is_change: bool = False
    ) -> R:
        """Return the answer of a group's coordinator. Is not tried again, see `persistently`.

        A change whose connection is lost is a failure that says so, and not ConnectionLost: it may have happened.
        """
        connection = self._connected(self.coordinator_of(group_id).address)
        try:
            return connection.ask(request, response_class)
        except ConnectionLost as lost:
            if not is_change:
                raise
            raise ClientFailed(
                f"{lost}. Whether it did what was asked is not known: look, then ask again"
            ) from lost

    def persistently(self, attempt: Callable[[], T]) -> T:
        """Return what `attempt` returns; after TryAgain and ConnectionLost call it again, until the deadline.

        Coordinators are looked for anew then. Raises what `attempt` raises.
        """
        attempt_count = 0
        while True:
            attempt_count += 1
            try:
                return attempt()
            except TryAgain as again:
                failure: ClientFailed = ClientFailed(
                    f"{again.failure}, for {self._deadline.timeout_ms} ms (--timeout)"
                )
            except ConnectionLost as lost:
                failure = lost
            self._coordinators.clear()
            if not self._deadline.pause(attempt_count):
                raise failure

    def _look(self, topics: list[MetadataRequestTopic]) -> MetadataResponse:
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        found = self._any_connection().ask(request, MetadataResponse, oldest=_OLDEST_METADATA)
        self._brokers = {each.node_id: Broker(each.node_id, each.host, each.port) for each in found.brokers}
        return found

    def _found_coordinator(self, group_id: str) -> Broker:
        request = FindCoordinatorRequest(key=group_id, key_type=_GROUP)
        found = self._any_connection().ask(request, FindCoordinatorResponse, newest=_ONE_KEY_VERSION)
        asked = f"the coordinator of group {group_id!r} cannot be found"
        require_success(found.error_code, asked, found.error_message)
        return Broker(found.node_id, found.host, found.port)

    def _any_connection(self) -> BrokerConnection:
        """Return a connection to the first bootstrap address that answers. Raises CannotConnect with every reason."""
        reasons: dict[str, None] = {}
        for address in self._bootstrap_servers:
            try:
                return self._connected(address)
            except ConnectionLost as lost:
                reasons[str(lost)] = None
        raise CannotConnect("; ".join(reasons))

    def _connected(self, address: BrokerAddress) -> BrokerConnection:
        known = self._connections.get(address)
        if known is None or not known.is_open:
            known = self._connections[address] = BrokerConnection(address, self._deadline, self._access)
        return known


@contextmanager
def connected_cluster(
    bootstrap_servers: Sequence[BrokerAddress], deadline: Deadline, access: ClusterAccess = IN_PLAINTEXT
) -> Iterator[ClusterClient]:
    """Give a client for the length of the block that some broker has answered. Raises CannotConnect, ClientFailed."""
    client = ClusterClient(bootstrap_servers, deadline, access)
    try:
        client.brokers()
        yield client
    finally:
        client.close()
