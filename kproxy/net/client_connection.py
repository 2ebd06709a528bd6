"""One client connection: the sockets around a `ClientSession`.

Back-pressure, both ways:
- the broker's socket is full: the client is read no further;
- the client's socket is full: the broker is read no further;
- something waits (for the twin to connect, for an answer of kproxy's own, for too many owed responses): likewise.
"""

import asyncio
from typing import cast

from kproxy.errors import KproxyError, PeerViolation
from kproxy.handlers.ports import RequestContext
from kproxy.interception.broker_addresses import BackingBroker
from kproxy.interception.client_session import Call
from kproxy.net.broker_failures import BrokerFailure
from kproxy.net.buffer_budget import SMALL_FRAME_BYTES
from kproxy.net.calls import answer_call
from kproxy.net.relay import MAX_BACKLOG_BYTES, MAX_OWED_RESPONSES, WRITE_HIGH_WATER_BYTES, Relay
from kproxy.net.upstream_twin import UpstreamTwin, dial
from kproxy.telemetry import logs

log = logs.logger("net.relay")


class ClientConnection(asyncio.Protocol):
    """Relays one client to the broker `node_id` (-1: the bootstrap port) and answers what kproxy serves."""

    __slots__ = (
        "_at_eof",
        "_awaits_budget",
        "_broker_is_full",
        "_called",
        "_client_is_full",
        "_has_failed",
        "_is_closed",
        "_is_draining",
        "_last_client_ms",
        "_last_twin_ms",
        "_loop",
        "_relay",
        "_reserved_bytes",
        "_twin",
        "connection_id",
        "node_id",
        "peer",
        "session",
        "transport",
    )

    def __init__(self, relay: Relay, node_id: int) -> None:
        self._relay = relay
        self.node_id = node_id
        self.connection_id = relay.next_connection_id()
        self.session = relay.new_session()
        self.transport: asyncio.Transport | None = None
        self.peer = "?"
        self._loop = asyncio.get_running_loop()
        self._twin: UpstreamTwin | None = None
        self._awaits_budget = False
        self._reserved_bytes = 0
        self._broker_is_full = False
        self._client_is_full = False
        self._at_eof = False
        self._has_failed = False
        self._is_draining = False
        self._is_closed = False
        self._called = False
        self._last_client_ms = self._last_twin_ms = self._now_ms()

    # ---- the client's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.transport.set_write_buffer_limits(high=WRITE_HIGH_WATER_BYTES)
        host, port, *_ = self.transport.get_extra_info("peername") or ("?", 0)
        self.peer = f"{host}:{port}"
        self._relay.connections.add(self)
        self._relay.counting.count("connections", 1, "client")
        log.debug("client_connected", peer=self.peer, node=self.node_id)
        self._relay.tasks.spawn(self._connect(), name=f"dial for {self.peer}")

    def data_received(self, data: bytes) -> None:
        self._last_client_ms = self._now_ms()
        self._relay.traffic.from_clients += len(data)
        if self._has_failed:
            return
        try:
            self.session.receive_from_client(data)
        except PeerViolation as violation:
            self._refuse("client", violation)
        self._pump()

    def eof_received(self) -> bool:
        """Close, unless the broker still owes this client answers: a client may shut its writing side and read on.

        A request that kproxy itself is answering does not count: nobody waits for records of a share group any more.
        """
        self._at_eof = self.session.owed_responses > 0 and not self.session.is_barred
        return self._at_eof

    def pause_writing(self) -> None:
        self._client_is_full = True
        if self._twin is not None:
            self._twin.pause_reading()

    def resume_writing(self) -> None:
        self._client_is_full = False
        self._adjust_reading()

    def connection_lost(self, error: Exception | None) -> None:
        self._is_closed = True
        self._relay.connections.discard(self)
        self._relay.budget.release(self)
        self._relay.budget.note_waiting(self, 0)
        log.debug("client_disconnected", peer=self.peer, node=self.node_id, err=error)
        if self._twin is not None:
            self._twin.close()
        if self._called:
            self._relay.tasks.spawn(
                self._relay.apis.connection_closed(self.connection_id), name=f"release for {self.peer}"
            )

    # ---- the broker's side

    def receive_from_broker(self, data: bytes) -> None:
        """Take bytes of the twin."""
        self._last_twin_ms = self._now_ms()
        if self._is_closed or self._has_failed:
            return
        try:
            self.session.receive_from_broker(data)
        except PeerViolation as violation:
            self._refuse("broker", violation)
        self._pump()

    def pause_for_broker(self) -> None:
        """Read nothing more from the client: the broker is slow."""
        self._broker_is_full = True
        self._adjust_reading()

    def resume_for_broker(self) -> None:
        """Read the client again: the broker has caught up."""
        self._broker_is_full = False
        self._adjust_reading()

    def broker_lost(self, error: Exception | None) -> None:
        """Close the client's side as well, after what has come has left."""
        if self._is_closed:
            return
        reason = "lost_mid_frame" if self.session.is_broker_mid_frame else "lost"
        tell = log.debug
        if self.session.owed_responses:
            self._relay.counting.count("connection_errors", 1, "broker", reason)
            tell = log.info
        tell("broker_disconnected", peer=self.peer, node=self.node_id, reason=reason, err=error)
        self.close()

    # ---- what the shell does with it

    @property
    def buffered_bytes(self) -> int:
        """Bytes held for this connection, write buffers included."""
        return self._unwritten_bytes() + self.session.buffered_bytes

    @property
    def is_closed(self) -> bool:
        """Whether the client is gone."""
        return self._is_closed

    def sweep(self, now_ms: int) -> None:
        """End a connection that stalls in the middle of a frame; keep a silent twin alive."""
        limits = self._relay.limits
        if self._twin is None or self._is_closed:
            return
        self._account()
        self._adjust_reading()
        is_stalled = self.session.is_client_mid_frame and self._is_reading()
        if is_stalled and now_ms - self._last_client_ms > limits.frame_deadline_ms:
            detail = f"nothing came for {limits.frame_deadline_ms} ms in the middle of a frame"
            self._refuse("client", PeerViolation("frame_stalled", detail))
        elif now_ms - self._last_twin_ms > limits.keepalive_ms and self.session.inject_keepalive():
            self._relay.counting.count("keepalives")
            self._pump()

    def stop_reading(self) -> None:
        """Take no further requests: the connection, or kproxy, is about to end."""
        self._is_draining = True
        if self.transport is not None and not self.transport.is_closing() and self._is_reading():
            self.transport.pause_reading()

    def close(self) -> None:
        """Close both sides after what is buffered has left."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.close()
        if self._twin is not None:
            self._twin.close()

    def abort(self) -> None:
        """Close both sides now."""
        if self.transport is not None:
            self.transport.abort()
        if self._twin is not None:
            self._twin.abort()

    # ---- private

    def _now_ms(self) -> int:
        return int(self._loop.time() * 1000)

    def _is_reading(self) -> bool:
        return self.transport is not None and self.transport.is_reading()

    async def _connect(self) -> None:
        try:
            twin = await dial(self, self._relay, self.node_id)
        except BrokerFailure as failure:
            self._relay.on_unreachable()
            self._fail("broker", failure.reason, failure.detail)
            return
        if self._is_closed:
            twin.abort()
            return
        self._twin = twin
        self._last_twin_ms = self._now_ms()
        self._relay.counting.count("connections", 1, "broker")
        self._pump()

    def _pump(self) -> None:
        """Move what the session has ready."""
        if self.transport is None or self.transport.is_closing():
            return
        twin = self._twin
        if twin is not None and twin.is_open and (buffers := self.session.take_for_broker()):
            self._last_twin_ms = self._now_ms()
            twin.write(buffers)
        if buffers := self.session.take_for_client():
            self._write(buffers)
        if brokers := self.session.take_new_brokers():
            self._relay.tasks.spawn(self._bind(brokers), name="bind new brokers")
        if self._at_eof and self.session.owed_responses == 0:
            self.close()
            return
        if (call := self.session.take_call()) is not None:
            self._called = True
            self._relay.tasks.spawn(self._answer(call), name=f"API key {call.slot.api_key} for {self.peer}")
        self._account()
        self._adjust_reading()

    def _write(self, buffers: list[bytes | memoryview]) -> None:
        assert self.transport is not None
        self._relay.traffic.to_clients += sum(map(len, buffers))
        if len(buffers) == 1:
            self.transport.write(buffers[0])
        else:
            self.transport.writelines(buffers)

    def _account(self) -> None:
        """Reserve what the frame that is being held will take, and tell what waits for slow peers."""
        held_bytes = self.session.held_frame_bytes
        needed_bytes = held_bytes if held_bytes > SMALL_FRAME_BYTES else 0
        if needed_bytes != self._reserved_bytes:
            self._relay.budget.release(self)
            self._reserved_bytes = needed_bytes
            self._awaits_budget = bool(needed_bytes) and not self._relay.budget.reserve(
                self, needed_bytes, self._budget_granted
            )
        self._relay.budget.note_waiting(self, self._unwritten_bytes())

    def _budget_granted(self) -> None:
        self._awaits_budget = False
        self._adjust_reading()

    def _unwritten_bytes(self) -> int:
        waiting = self.transport.get_write_buffer_size() if self.transport is not None else 0
        return waiting + (self._twin.buffered_bytes if self._twin is not None else 0)

    def _adjust_reading(self) -> None:
        """Read from each side exactly when there is room for what it may send."""
        if self.transport is None or self.transport.is_closing() or self._is_draining:
            return
        is_throttled = self._awaits_budget or self._is_over_budget()
        is_wanted = not (self._broker_is_full or is_throttled or self._is_clogged())
        if is_wanted is not self.transport.is_reading():
            if is_wanted:
                self.transport.resume_reading()
            else:
                self.transport.pause_reading()
        if self._twin is not None:
            if self._client_is_full or is_throttled:
                self._twin.pause_reading()
            else:
                self._twin.resume_reading()

    def _is_over_budget(self) -> bool:
        return self._relay.budget.is_exceeded and self._unwritten_bytes() > 0

    def _is_clogged(self) -> bool:
        if self._twin is None:
            return self.session.unsent_bytes > 0
        return (
            self.session.owed_responses > MAX_OWED_RESPONSES or self.session.waiting_bytes > MAX_BACKLOG_BYTES
        )

    async def _bind(self, brokers: tuple[BackingBroker, ...]) -> None:
        assert self._relay.binder is not None
        try:
            await self._relay.binder.bind(brokers)
            self.session.brokers_are_bound()
        except PeerViolation as violation:
            self._refuse("broker", violation)
        except KproxyError as error:
            self._fail("client", "port_unavailable", str(error))
        self._pump()

    async def _answer(self, call: Call) -> None:
        request = call.request
        context = RequestContext(
            connection_id=self.connection_id,
            node_id=self.node_id,
            api_key=request.api_key,
            api_version=request.api_version,
            client_id=request.client_id or "",
            client_host="/" + self.peer.rpartition(":")[0],
            peer=self.peer,
        )
        try:
            await answer_call(self, call, self._relay.apis, context)
        except PeerViolation as violation:
            self._refuse("client", violation)
        self._pump()

    def _refuse(self, side: str, violation: PeerViolation) -> None:
        self._fail(side, violation.reason, violation.detail)

    def _fail(self, side: str, reason: str, detail: str) -> None:
        """Say why, count it, and close after a small delay."""
        if self._is_closed or self._has_failed:
            return
        self._has_failed = True
        self._relay.counting.count("connection_errors", 1, side, reason)
        log.warning(
            "connection_refused", peer=self.peer, node=self.node_id, side=side, reason=reason, err=detail
        )
        self.stop_reading()
        self._loop.call_later(self._relay.close_delay_seconds(), self.close)
