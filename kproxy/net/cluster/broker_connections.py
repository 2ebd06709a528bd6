"""kproxy's own connections to the backing brokers: opened when needed, by purpose, and again when lost.

A client's traffic never passes here: it has an upstream connection of its own (`kproxy.net.relay.upstream_twin`).
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from kproxy.errors import BrokerUnavailable
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.ports import Clock
from kproxy.interception.broker_addresses import BackingBroker
from kproxy.net.authentication.broker_access import BrokerAccess
from kproxy.net.backoff import Backoff
from kproxy.net.broker_failures import BrokerFailure
from kproxy.net.cluster.broker_client import (
    CLIENT_ID,
    CLOSED_BY_BROKER,
    CLOSED_BY_KPROXY,
    BrokerClient,
    ConnectionLimits,
    dial,
)
from kproxy.net.cluster.read_buffers import ReadBuffers
from kproxy.net.counting import Counting
from kproxy.net.tasks import TaskKeeper
from kproxy.settings.addresses import HostPort
from kproxy.telemetry import logs

log = logs.logger("net.cluster.broker_connections")

MOVED_PATIENCE_MS: Final = 2_000
"""How long what is owed by the place where a broker was may take: most comes within milliseconds, if it comes."""

READ_CONNECTION_COUNT: Final = 4
"""Connections per broker that reads are spread over; opened one by one as reads overlap."""


OPEN_ACCESS: Final = BrokerAccess()
"""Where brokers let everybody in, unencrypted."""


class ReadConnections(Protocol):
    """Where reads go that a broker answers at once."""

    async def reader(self, node_id: int) -> BrokerClient:
        """Return an open connection to a broker. Raises BrokerUnavailable."""
        ...


class Dialler:
    """Opens connections, which share their read buffers, and tells the operator what becomes of them.

    `access` is how brokers let them in; what they do about it beside requests is among `tasks`.
    """

    def __init__(
        self, limits: ConnectionLimits, counting: Counting, tasks: TaskKeeper, access: BrokerAccess
    ) -> None:
        self.limits = limits
        self._counting = counting
        self._tasks = tasks
        self._access = access
        self._read_buffers = ReadBuffers()

    async def open(
        self, address: HostPort, on_error: Callable[[BrokerFailure], None] = lambda _: None
    ) -> BrokerClient:
        """Return a new connection to `address`; `on_error` hears how it ended. Raises BrokerFailure."""
        try:
            session = self._access.new_session(self._tasks)
            client = await dial(address, self.limits, self._read_buffers, self._access.tls, session)
        except BrokerFailure as failure:
            self._counting.count("connection_errors", 1, "broker", failure.reason)
            raise
        client.on_end = partial(self._ended, on_error)
        client.on_throttled = partial(self._throttled, client.peer)
        self._counting.count("connections", 1, "broker")
        return client

    def _throttled(self, peer: str, throttle_ms: int) -> None:
        self._counting.count("broker_throttles")
        log.info("broker_throttles", broker=peer, throttle_ms=throttle_ms, client_id=CLIENT_ID)

    def _ended(self, on_error: Callable[[BrokerFailure], None], failure: BrokerFailure) -> None:
        on_error(failure)
        if failure.reason in {CLOSED_BY_BROKER, CLOSED_BY_KPROXY}:
            log.debug("broker_connection_closed", reason=failure.reason, detail=failure.detail)
            return
        self._counting.count("connection_errors", 1, "broker", failure.reason)
        log.warning("broker_connection_failed", reason=failure.reason, detail=failure.detail)


@dataclass(frozen=True, slots=True)
class BrokerContact:
    """How kproxy is in touch with a broker: its own open connections, and why one failed last, if one ever did."""

    open_count: int = 0
    last_error: str = ""
    last_error_age_ms: int | None = None


class _Broker:
    """One node id: where it lives, and whether it is left alone for a while."""

    def __init__(self, node_id: int, address: HostPort, clock: Clock, doubt: Callable[[], None]) -> None:
        self.node_id = node_id
        self.address = address
        self.doubt = doubt
        self.backoff = Backoff(clock)
        self.last_failure: BrokerFailure | None = None
        self.last_error = ""
        self.last_error_ms: int | None = None
        self._clock = clock

    def note_error(self, failure: BrokerFailure) -> None:
        """Keep why a connection failed; one that was closed in order did not."""
        if failure.reason not in {CLOSED_BY_BROKER, CLOSED_BY_KPROXY}:
            self.last_error, self.last_error_ms = failure.detail, self._clock.now_ms()

    @property
    def last_error_age_ms(self) -> int | None:
        return None if self.last_error_ms is None else self._clock.now_ms() - self.last_error_ms


class _Connection:
    """One place for a connection to a broker, of which everybody who asks gets the same."""

    def __init__(self, broker: _Broker, dialler: Dialler, tasks: TaskKeeper) -> None:
        self._broker = broker
        self._dialler = dialler
        self._tasks = tasks
        self._client: BrokerClient | None = None
        self._dialled: asyncio.Future[BrokerClient | BrokerFailure] | None = None
        self._dialling: asyncio.Task[None] | None = None
        self._awaiting_count = 0

    @property
    def is_open(self) -> bool:
        return self._client is not None and self._client.is_open

    @property
    def load(self) -> int:
        """How many requests a new one would wait for; a connection still to be opened counts as one more."""
        if self._client is not None and self._client.is_open:
            return self._client.in_flight_count
        return 1 + self._awaiting_count

    async def client(self) -> BrokerClient:
        """Return the open connection, opening it first if need be.

        Raises:
            BrokerUnavailable: it cannot be opened, or could not be a moment ago.
        """
        if self._client is not None and self._client.is_open:
            return self._client
        if self._dialled is None:
            self._refuse_now()
            dialled = self._dialled = asyncio.get_running_loop().create_future()
            task = self._tasks.spawn(self._dial(dialled), name=f"dial broker {self._broker.node_id}")
            task.add_done_callback(lambda _: self._give_up(dialled))
            self._dialling = task
        self._awaiting_count += 1
        try:
            # Shared, so one caller that is cancelled must not end it for the others.
            outcome = await asyncio.shield(self._dialled)
        finally:
            self._awaiting_count -= 1
        if isinstance(outcome, BrokerFailure):
            raise outcome.again()
        return outcome

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def leave(self, moved: BrokerFailure) -> None:
        """Dial anew for whoever asks from now on; what is owed may come for a moment. Say `moved` to those who wait."""
        client, self._client = self._client, None
        if client is not None and client.is_open:
            self._close_when_answered(client, moved)
        dialled, self._dialled = self._dialled, None
        if dialled is not None and self._dialling is not None:
            if not dialled.done():
                dialled.set_result(moved)
            self._dialling.cancel()

    @staticmethod
    def _close_when_answered(client: BrokerClient, moved: BrokerFailure) -> None:
        patience_ms = min(client.owed_within_ms, MOVED_PATIENCE_MS) if client.in_flight_count else 0
        if patience_ms > 0:
            asyncio.get_running_loop().call_later(patience_ms / 1000, client.close, moved)
        else:
            client.close(moved)

    def _refuse_now(self) -> None:
        if self._tasks.is_closed:
            raise BrokerFailure(CLOSED_BY_KPROXY, "kproxy is stopping")
        remaining_ms = self._broker.backoff.remaining_ms
        if remaining_ms > 0 and self._broker.last_failure is not None:
            last_failure = self._broker.last_failure
            detail = (
                f"{last_failure.detail}; broker {self._broker.node_id} is tried again in {remaining_ms} ms"
            )
            raise type(last_failure)(last_failure.reason, detail)

    async def _dial(self, dialled: asyncio.Future[BrokerClient | BrokerFailure]) -> None:
        address, is_again = self._broker.address, self._client is not None
        try:
            self._client = await self._dialler.open(address, self._broker.note_error)
            self._forget_failure(address)
            if is_again:
                self._broker.doubt()
            dialled.set_result(self._client)
        except BrokerFailure as failure:
            self._remember(failure)
            dialled.set_result(failure)

    def _give_up(self, dialled: asyncio.Future[BrokerClient | BrokerFailure]) -> None:
        if self._dialled is dialled:
            self._dialled = None
        if not dialled.done():
            dialled.set_result(BrokerFailure(CLOSED_BY_KPROXY, "kproxy is stopping"))

    def _remember(self, failure: BrokerFailure) -> None:
        if self._broker.last_failure is None:
            log.warning(
                "broker_unreachable",
                node_id=self._broker.node_id,
                reason=failure.reason,
                detail=failure.detail,
            )
        self._broker.last_failure = failure
        self._broker.note_error(failure)
        self._broker.backoff.failed()
        self._broker.doubt()

    def _forget_failure(self, address: HostPort) -> None:
        if self._broker.last_failure is not None:
            log.info("broker_reached", node_id=self._broker.node_id, address=address)
        self._broker.last_failure = None
        self._broker.backoff.succeeded()


class _BrokerConnections:
    def __init__(
        self, broker: _Broker, dialler: Dialler, tasks: TaskKeeper, read_connection_count: int
    ) -> None:
        self.broker = broker
        self.control = _Connection(broker, dialler, tasks)
        self.tails = {isolation: _Connection(broker, dialler, tasks) for isolation in IsolationLevel}
        self.appender = _Connection(broker, dialler, tasks)
        self.surveyor = _Connection(broker, dialler, tasks)
        self.readers = [_Connection(broker, dialler, tasks) for _ in range(read_connection_count)]

    def least_busy_reader(self) -> _Connection:
        """Return an idle open one, else one still to be opened, else the one with the shortest queue."""
        return min(self.readers, key=lambda connection: (connection.load, connection.is_open))

    def all(self) -> Sequence[_Connection]:
        return (self.control, *self.tails.values(), self.appender, self.surveyor, *self.readers)


class BrokerConnections:
    """All of kproxy's own connections, by node id and purpose.

    `control` is for metadata and the like, `tail` for the long polls that watch for new records, `appender` for
    writes to the state log, `reader` for reads that the broker answers at once, `survey` for the questions of people
    who look into kproxy, so that none of them waits behind another purpose. A broker
    that could not be reached is left alone for a while that grows up to a second; in that time every call
    fails at once. `access` is how brokers let all of them in.
    """

    def __init__(
        self,
        *,
        limits: ConnectionLimits,
        clock: Clock,
        tasks: TaskKeeper,
        counting: Counting,
        read_connection_count: int = READ_CONNECTION_COUNT,
        access: BrokerAccess = OPEN_ACCESS,
    ) -> None:
        self.on_doubt: Callable[[], None] = lambda: None
        """Called when a broker may have moved: it was not reached, or a connection to it had to be made anew."""
        self.dialler = Dialler(limits, counting, tasks, access)
        self._clock = clock
        self._tasks = tasks
        self._read_connection_count = read_connection_count
        self._brokers: dict[int, _BrokerConnections] = {}

    def learn(self, brokers: Iterable[BackingBroker]) -> None:
        """Dial `brokers` at the addresses they have now, and leave the connections to where they were.

        Another broker may be there, which would answer for ever that it is not the one.
        """
        for broker in brokers:
            self._learn_one(broker.node_id, HostPort(broker.host, broker.port))

    async def control(self, node_id: int) -> BrokerClient:
        """Return the connection for short questions. Raises BrokerUnavailable."""
        return await self._of(node_id).control.client()

    async def tail(
        self, node_id: int, isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    ) -> BrokerClient:
        """Return the connection that one long poll at a time may occupy, one for each isolation level.

        Raises BrokerUnavailable.
        """
        return await self._of(node_id).tails[isolation].client()

    async def appender(self, node_id: int) -> BrokerClient:
        """Return the connection for writes, which wait until they are replicated. Raises BrokerUnavailable."""
        return await self._of(node_id).appender.client()

    async def reader(self, node_id: int) -> BrokerClient:
        """Return the read connection with the shortest queue. Raises BrokerUnavailable."""
        return await self._of(node_id).least_busy_reader().client()

    def survey(self) -> ReadConnections:
        """Return the connections, one for each broker, that no client waits for."""
        return _SurveyConnections(self)

    async def surveyor(self, node_id: int) -> BrokerClient:
        """Return the connection for questions of people. Raises BrokerUnavailable."""
        return await self._of(node_id).surveyor.client()

    def contact(self, node_id: int) -> BrokerContact:
        """Return how kproxy is in touch with a broker now."""
        known = self._brokers.get(node_id)
        if known is None:
            return BrokerContact()
        open_count = sum(connection.is_open for connection in known.all())
        return BrokerContact(open_count, known.broker.last_error, known.broker.last_error_age_ms)

    def backoff_ms(self, node_id: int) -> int:
        """Return for how long the broker is left alone; 0 when it may be dialled now."""
        known = self._brokers.get(node_id)
        return known.broker.backoff.remaining_ms if known is not None else 0

    def close(self) -> None:
        """Close every connection; who waits for an answer gets BrokerUnavailable."""
        for connections in self._brokers.values():
            for connection in connections.all():
                connection.close()

    def _learn_one(self, node_id: int, address: HostPort) -> None:
        known = self._brokers.get(node_id)
        if known is None:
            broker = _Broker(node_id, address, self._clock, self._doubt)
            self._brokers[node_id] = _BrokerConnections(
                broker, self.dialler, self._tasks, self._read_connection_count
            )
        elif known.broker.address != address:
            before = known.broker.address
            log.info("broker_moved", node_id=node_id, before=before, after=address)
            known.broker.address = address
            known.broker.backoff.succeeded()
            moved = BrokerFailure(CLOSED_BY_KPROXY, f"broker {node_id} has moved from {before} to {address}")
            for connection in known.all():
                connection.leave(moved)

    def _doubt(self) -> None:
        self.on_doubt()

    def _of(self, node_id: int) -> _BrokerConnections:
        connections = self._brokers.get(node_id)
        if connections is None:
            raise BrokerUnavailable(f"no broker with node id {node_id} is known")
        return connections


class _SurveyConnections:
    """Implements `ReadConnections`."""

    def __init__(self, connections: BrokerConnections) -> None:
        self._connections = connections

    async def reader(self, node_id: int) -> BrokerClient:
        return await self._connections.surveyor(node_id)
