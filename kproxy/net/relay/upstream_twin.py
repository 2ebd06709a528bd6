"""The connection to a backing broker that belongs to one client connection, and to nobody else."""

import asyncio
from collections.abc import Hashable
from functools import partial
from typing import ClassVar, Final, Protocol, cast

from kproxy.net.broker_failures import BrokerFailure
from kproxy.net.dialing import connect
from kproxy.net.relay.relay import WRITE_HIGH_WATER_BYTES, Relay
from kproxy.net.relay.sparing_protocol import SparingProtocol
from kproxy.net.relay.transports import close_behind_buffer, write_together
from kproxy.settings.addresses import HostPort

MOVED_PATIENCE_MS: Final = 5_000
"""How long answers that are owed may take to come from where the broker was, before the client is closed."""


class TwinOwner(Protocol):
    """The client connection of a twin: `ClientConnection`, which dials it, and so stands above this module."""

    holder: Hashable
    """Whose bytes these are, for the budget of all connections."""

    @property
    def may_be_closed(self) -> bool:
        """Whether nobody owes anybody anything, and it is not being closed already."""
        ...

    def stop_reading(self) -> None:
        """Take no further requests."""
        ...

    def close(self) -> None:
        """Close both sides after what is buffered has left."""
        ...

    def look_again(self) -> None:
        """Look what waits for slow peers, and read of each what there is room for."""
        ...

    def receive_from_broker(self, data: bytes) -> None:
        """Take bytes of the twin."""
        ...

    def pause_for_broker(self) -> None:
        """Read nothing more from the client: the broker is slow."""
        ...

    def resume_for_broker(self) -> None:
        """Read the client again: the broker has caught up."""
        ...

    def broker_lost(self, twin: "UpstreamTwin", error: Exception | None) -> None:
        """Take note that the broker closed the twin, or lost it."""
        ...


class UpstreamTwin(SparingProtocol):
    """Hands the broker's bytes to the client connection, and slows the client down when the broker is slow.

    Most of them are records, which only have to be sent on: to rest takes a quarter of the time that this takes.
    """

    full_reads: ClassVar = 4
    __slots__ = ("_client", "_is_wanted", "_parts_by_ms", "_relay", "address", "node_id", "transport")

    def __init__(self, client: TwinOwner, relay: Relay, node_id: int, address: HostPort) -> None:
        super().__init__(relay.reads)
        self.holder = client.holder
        self._client = client
        self._relay = relay
        self._parts_by_ms: int | None = None
        self._is_wanted = True
        self.node_id = node_id
        self.address = address
        """Where it was dialled."""
        self.transport: asyncio.Transport | None = None
        """None before the connection is made, and again when it is lost."""

    @property
    def is_open(self) -> bool:
        """Whether bytes can be written."""
        return self.transport is not None and not self.transport.is_closing()

    @property
    def buffered_bytes(self) -> int:
        """Bytes that the broker has not taken yet."""
        return self.transport.get_write_buffer_size() if self.transport is not None else 0

    @property
    def is_wanted(self) -> bool:
        """Whether there is room for what the broker says."""
        return self._is_wanted

    @property
    def is_parting(self) -> bool:
        """Whether it takes no further requests, because its broker is elsewhere."""
        return self._parts_by_ms is not None

    def look_for_broker(self, now_ms: int) -> None:
        """Where the broker is elsewhere by now, let the client come again: once nothing is owed, or soon."""
        if self._parts_by_ms is None:
            if self.address in self._relay.upstream_addresses(self.node_id):
                return
            self._parts_by_ms = now_ms + MOVED_PATIENCE_MS
            self._client.stop_reading()
        if self._client.may_be_closed:
            self._client.close()
        elif now_ms >= self._parts_by_ms:
            self.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.transport.set_write_buffer_limits(high=WRITE_HIGH_WATER_BYTES)
        self._relay.traffic.open_twins += 1
        self._relay.twins.add(self)

    def data_received(self, data: bytes) -> None:
        self._relay.traffic.from_brokers += len(data)
        self._client.receive_from_broker(data)

    def pause_writing(self) -> None:
        self._client.pause_for_broker()

    def resume_writing(self) -> None:
        self._client.resume_for_broker()

    def connection_lost(self, error: Exception | None) -> None:
        self.transport = None
        self._relay.budget.note_waiting(self, 0)
        self._relay.traffic.open_twins -= 1
        self._relay.twins.discard(self)
        self._client.broker_lost(self, error)

    def write(self, buffers: list[bytes | memoryview]) -> None:
        """Send `buffers` in one system call where possible. The twin is open."""
        assert self.transport is not None
        self._relay.traffic.to_brokers += write_together(self.transport, buffers)

    def set_high_water(self, high_bytes: int) -> None:
        """Call the broker slow from now on when more than `high_bytes` wait for it."""
        if self.is_open and self.transport is not None:
            self.transport.set_write_buffer_limits(high=high_bytes)

    def read(self, *, is_wanted: bool) -> bool:
        """Read from the broker, or nothing more for now; after full reads not before the loop's next turn.

        Returns whether there is room again for what it says.
        """
        is_wanted_again = is_wanted and not self._is_wanted
        self._is_wanted = is_wanted
        self._adjust_reading()
        return is_wanted_again

    def close(self) -> None:
        """Close after what is buffered has left; see `close_behind_buffer`."""
        if self.transport is not None:
            close_behind_buffer(self.transport, patience_ms=self._relay.limits.frame_deadline_ms)

    def outlive_client(self) -> None:
        """Close likewise; what is buffered counts as its own until then, since its client's connection has ended."""
        self._relay.budget.note_waiting(self, self.buffered_bytes)
        self.close()

    def abort(self) -> None:
        """Close now."""
        if self.transport is not None:
            self.transport.abort()

    def _end_rest(self) -> None:
        if self.is_open:
            self._client.look_again()  # before more is read: the client may have taken nothing
        super()._end_rest()

    def _adjust_reading(self) -> None:
        is_wanted = self._is_wanted and not self._is_resting
        if not self.is_open or self.transport is None or is_wanted is self.transport.is_reading():
            return
        if is_wanted:
            self.transport.resume_reading()
        else:
            self.transport.pause_reading()


async def dial(client: TwinOwner, relay: Relay, node_id: int) -> UpstreamTwin:
    """Connect to the broker `node_id` (-1: any bootstrap server) for `client`.

    Each address is tried once, with all addresses its name resolves to, within `kproxy.connect.timeout.ms` each.

    Raises:
        BrokerFailure: none answered; the text says what was tried and how each failed.
    """
    failures: list[BrokerFailure] = []
    for address in relay.upstream_addresses(node_id):
        try:
            twin = await connect(
                address,
                partial(UpstreamTwin, client, relay, node_id, address),
                timeout_ms=relay.limits.connect_timeout_ms,
                tls=relay.broker_tls,
            )
        except BrokerFailure as failure:
            failures.append(failure)
        else:
            relay.unreachable.discard(node_id)
            relay.counting.count("connections", 1, "broker")
            return twin
    assert failures, f"no address is known for broker {node_id}"
    raise BrokerFailure(failures[-1].reason, "; ".join(failure.detail for failure in failures))
