"""One client connection: the sockets around a `ClientSession`. Who is read when: see `back_pressure`."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import ClassVar, cast

from kproxy.errors import KproxyError, PeerViolation
from kproxy.handlers.live.pauses import let_others_go_on
from kproxy.handlers.refusal_streaks import RefusalStreaks
from kproxy.interception.broker_addresses import BackingBroker
from kproxy.interception.calls import AnyCall
from kproxy.interception.routing import Disposition
from kproxy.net.broker_failures import BrokerFailure, PeerFailure
from kproxy.net.relay.back_pressure import BackPressure
from kproxy.net.relay.connection_memory import ConnectionMemory
from kproxy.net.relay.connection_times import ConnectionTimes
from kproxy.net.relay.left_requests import LeftRequests
from kproxy.net.relay.memory.answer_budget import AnswerBudget
from kproxy.net.relay.relay import WRITE_HIGH_WATER_BYTES, Relay
from kproxy.net.relay.relayed_answers import NO_ANSWER, UnderWay
from kproxy.net.relay.sparing_protocol import SparingProtocol, read_on
from kproxy.net.relay.transports import LARGE_CHUNK_BYTES, close_behind_buffer, stream_on, write_together
from kproxy.net.relay.upstream_twin import UpstreamTwin, dial
from kproxy.telemetry import logs

log = logs.logger("net.relay.relay")


class ClientConnection(SparingProtocol):
    """Relays one client to the broker `node_id` (-1: the bootstrap port) and answers what kproxy serves."""

    is_relayed: ClassVar = False
    __slots__ = (
        "_at_eof",
        "_has_failed",
        "_is_share_member",
        "_left",
        "_loop",
        "_memory",
        "_parting",
        "_pressure",
        "_relay",
        "_times",
        "_twin",
        "connection_id",
        "is_gone",
        "is_over",
        "node_id",
        "peer",
        "refusals",
        "relayed",
        "rights",
        "session",
        "transport",
    )

    def __init__(self, relay: Relay, node_id: int) -> None:
        super().__init__(relay.reads)
        self._relay, self.node_id, self.connection_id = relay, node_id, relay.next_connection_id()
        self.session = relay.new_session()
        self.transport: asyncio.Transport | None = None
        self.peer, self.refusals = "?", RefusalStreaks()
        self.relayed: UnderWay = NO_ANSWER
        self.rights = relay.new_rights(self.session, self._pump)
        self._loop, self._pressure = asyncio.get_running_loop(), BackPressure()
        self._twin: UpstreamTwin | None = None
        self._memory = ConnectionMemory(relay.budget, self.session, on_granted=self._adjust_reading)
        self.holder = self._memory.let_end(self._give_way)
        self._at_eof = self._has_failed = self._is_share_member = self.is_gone = self.is_over = False
        self._left: LeftRequests | None = None
        self._parting: Callable[[], None] | None = None
        self._times = ConnectionTimes(relay.limits, self._now_ms())

    # ---- the client's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.transport.set_write_buffer_limits(high=WRITE_HIGH_WATER_BYTES)
        host, port, *_ = self.transport.get_extra_info("peername") or ("?", 0)
        self.peer, self._memory.host = f"{host}:{port}", host
        self._relay.connections.add(self)
        self._relay.counting.count("connections", 1, "client")
        log.debug("client_connected", peer=self.peer, node=self.node_id)
        self._spawn(self._connect, name=f"dial for {self.peer}")

    def data_received(self, data: bytes) -> None:
        self._relay.traffic.from_clients += len(data)
        twin = None if self._twin is None or self._has_failed else self._twin.transport
        if len(data) >= LARGE_CHUNK_BYTES and stream_on(twin, self.session.passes_from_client, data):
            self._times.has_client_streamed = True
            self._relay.traffic.to_brokers += len(data)
            return
        self._times.client_ms = self._now_ms()
        self._receive("client", partial(self.session.receive_from_client, data))
        if self.session.is_barred and self.session.waiting_bytes:
            self._relay.apis.more_arrived(self.connection_id)
            self.relayed.more_arrived()

    def eof_received(self) -> bool:
        """Close, unless a broker's answer is owed: a client may shut its writing side and read on, or want nothing."""
        self._times.client_ms = self._now_ms()
        self._at_eof = self.session.is_busy and not self.session.is_barred
        if self._at_eof:
            self.stop_reading()
        else:
            close_behind_buffer(self.transport, patience_ms=self._relay.limits.frame_deadline_ms)
        return True  # the transport by itself would wait for ever for a client that takes nothing

    def pause_writing(self) -> None:
        self._pressure.is_client_full = self.session.responses.is_client_full = True
        self.look_again()

    def resume_writing(self) -> None:
        self._pressure.is_client_full = False
        self._receive("broker", self.session.responses.resume)

    def connection_lost(self, error: Exception | None) -> None:
        self.is_gone = True
        self._relay.client_left(self)
        log.debug("client_disconnected", peer=self.peer, node=self.node_id, err=error)
        has_more = self.session.has_more_to_answer or self.relayed.has_yet_to_be_asked
        if has_more and not (self._has_failed or self._relay.budget.is_exceeded):
            self._left = LeftRequests(self.session, on_time_up=self._end)
            self._relay.apis.forsake(self.connection_id)
            self.relayed.forsake()
            self.resume_writing()  # what is answered now is for nobody
        else:
            self._end()

    # ---- the broker's side, and that of peers

    def receive_from_peer(self, data: bytes | memoryview) -> None:
        """Take a part of the answer to the request that is relayed."""
        self.session.answer_part(data)
        self._pump()

    def receive_from_broker(self, data: bytes) -> None:
        """Take bytes of the twin."""
        client = None if self._has_failed else self.transport
        if len(data) >= LARGE_CHUNK_BYTES and stream_on(client, self.session.passes_from_broker, data):
            self._times.has_broker_streamed = True
            self._relay.traffic.to_clients += len(data)
            return
        self._times.twin_ms = self._now_ms()
        self._receive("broker", partial(self.session.receive_from_broker, data))

    def pause_for_broker(self) -> None:
        """Read nothing more from the client: the broker is slow."""
        self._pressure.is_broker_full = True
        self.look_again()

    def resume_for_broker(self) -> None:
        """Read the client again: the broker has caught up."""
        self._pressure.is_broker_full = False
        self._pump()

    def broker_lost(self, twin: UpstreamTwin, error: Exception | None) -> None:
        """Close the client's side as well, after what has come has been dealt with and has left.

        A twin that is not this connection's (yet) changes nothing: `dial` has given it up. Nor does any after `_fail`.
        """
        if self._left is not None:
            self._pump()
        if self.is_gone or self._has_failed or twin is not self._twin:
            return
        self._parting = partial(self._relay.note_broker_lost, self, error)
        self.stop_reading()
        self.resume_writing()  # no more will come, and the client is to have it, be it slow

    @property
    def buffered_bytes(self) -> int:
        """Bytes held for this connection, write buffers included."""
        return self._memory.unwritten_bytes(self.transport, self._twin) + self.session.buffered_bytes

    @property
    def may_be_closed(self) -> bool:
        """Whether nobody owes anybody anything, and it is not being closed already."""
        return self._is_open() and not self.session.is_busy

    def sweep(self, now_ms: int) -> None:
        """End a connection that stalls or that nobody is at the other end of; keep a share member's twin alive."""
        if self._twin is None or self.transport is None or self.transport.is_closing():
            self._account()  # what is being closed leaves still
            return
        self._times.note_streaming(now_ms)
        self._account()
        self._adjust_reading()
        times, is_gone = self._times, self._times.is_client_gone(now_ms)
        unwritten_bytes = self._memory.unwritten_bytes(self.transport, self._twin)
        is_mid_frame = self.session.requests.is_mid_frame and not self.session.is_paused
        is_awaited = is_mid_frame and (self._at_eof or self.transport.is_reading())
        if stall := times.stalled_frame(now_ms, self._memory.readable_bytes, is_client_awaited=is_awaited):
            self._fail("client" if self.session.requests.is_mid_frame else "broker", "frame_stalled", stall)
        elif times.stands_still(now_ms, unwritten_bytes):
            side = "broker" if self._twin.buffered_bytes else "client"
            self._fail(side, "stands_still", f"it took nothing for {times.idle_limit_ms} ms")
        elif self._is_share_member and not is_gone and times.is_twin_silent(now_ms):
            self._relay.counting.count("keepalives", int(self.session.inject_keepalive()))
            self._pump()

    def stop_reading(self) -> None:
        """Take no further requests: the connection, or kproxy, is about to end."""
        self._pressure.is_ending = True
        self.look_again()

    def look_again(self) -> None:
        """Look what waits for slow peers, and read of each what there is room for."""
        self._account()
        self._adjust_reading()

    def close(self) -> None:
        """Close both sides after what is buffered has left."""
        close_behind_buffer(self.transport, patience_ms=self._relay.limits.frame_deadline_ms)
        if self._twin is not None:
            self._twin.close()

    def abort(self) -> None:
        """Close both sides now."""
        for each in (self.transport, self._twin):
            if each is not None:
                each.abort()

    def _now_ms(self) -> int:
        return int(self._loop.time() * 1000)

    def _is_open(self) -> bool:
        return self.transport is not None and not self.transport.is_closing()

    def _spawn(self, work: Callable[[], Awaitable[None]], *, name: str, side: str = "client") -> None:
        self._relay.tasks.spawn(self._guarded(work, side), name=name)

    async def _guarded(self, work: Callable[[], Awaitable[None]], side: str) -> None:
        """Do `work`; what it raises is the fault of `side`, unless it is kproxy's own."""
        try:
            await work()
        except BrokerFailure as failure:
            whose = "peer" if isinstance(failure, PeerFailure) else "broker"
            self._fail(whose, failure.reason, failure.detail)
        except PeerViolation as violation:
            self._fail(side, violation.reason, violation.detail)
        except Exception as fault:  # noqa: BLE001 - the top of a task
            self._crash(fault)
        self._pump()

    async def _connect(self) -> None:
        try:
            twin = await dial(self, self._relay, self.node_id)
        except BrokerFailure as failure:
            tell = log.warning if self._relay.note_unreachable(self.node_id) else log.debug
            self._fail("broker", failure.reason, failure.detail, tell=tell)
            return
        if self.is_over:
            twin.abort()
            return
        self._twin, self._times.twin_ms = twin, self._now_ms()
        if twin.transport is None:
            self.broker_lost(twin, None)

    async def _go_on_long(self) -> None:
        await let_others_go_on()
        self._go_on(in_long_turn=True)

    def _go_on(self, *, in_long_turn: bool = False) -> None:
        self._pressure.is_turn_due = False
        side = "broker" if self.session.responses.awaits_turn else "client"
        self._receive(side, partial(self.session.go_on, in_long_turn=in_long_turn))

    def _receive(self, side: str, receive: Callable[[], None]) -> None:
        if self.is_over or self._has_failed:
            return
        self._relay.added.begin(self.session.slots)
        try:
            receive()
        except PeerViolation as violation:
            self._fail(side, violation.reason, violation.detail)
        except Exception as fault:  # noqa: BLE001 - the top of a callback
            self._crash(fault)
        self._pump()
        self._relay.added.end(side, self.session.slots)

    def _pump(self) -> None:
        """Move what the session has ready."""
        if self.is_over or not (self.is_gone or self._is_open()):
            return
        self._account()  # before anything is written: what is written now has had no chance to leave
        self._write()
        if self._memory.is_to_be_told_again:
            self._loop.call_soon(self._account)
        if brokers := self.session.take_new_brokers():
            self._spawn(partial(self._bind, brokers), name="bind new brokers", side="broker")
        if self._left is not None:
            self._serve(self._left.take_call())
            if self._left.is_over(self._twin):
                self._end()
        elif self._parting is not None and not self.session.responses.is_stuck:
            self._parting()
            self.close()
        elif self._at_eof and not self.session.is_busy:
            self.close()
        else:
            self._serve(None if self._pressure.is_client_full else self.session.take_call())
        self._adjust_reading()

    def _write(self) -> None:
        twin, transport = self._twin, self.transport
        if twin is not None and twin.is_open and (buffers := self.session.take_for_broker()):
            self._times.twin_ms = self._now_ms()
            twin.write(buffers)
        if (buffers := self.session.take_for_client()) and transport is not None and not self.is_gone:
            self._relay.traffic.to_clients += self._memory.note_written(write_together(transport, buffers))

    def _serve(self, call: AnyCall | None) -> None:
        if call is not None:
            self._is_share_member |= call.disposition is Disposition.SERVE
            name, budget = f"API key {call.slot.api_key} for {self.peer}", self._memory.answer(call)
            self._spawn(partial(self._answer, call, budget), name=name)

    def _end(self) -> None:
        """Serve nothing any more, and release what the client held."""
        if self.is_over:
            return
        self.is_over = True
        self._write()  # what went on while the connection was closing, or came before what is wrong
        if self._left is not None:
            self._left.end()
        self._memory.give_back()
        if self._twin is not None:
            self._twin.outlive_client()
        self._relay.end(self, is_share_member=self._is_share_member)

    def _account(self) -> None:
        """Tell what is held of frames, and what waits for slow peers. Who has left, or failed, sends no more."""
        if self.is_gone or self._at_eof or self._has_failed:
            self._memory.forget_frames(of_broker=self._has_failed)
        if self._memory.tell(self.transport, self._twin):
            self._times.reserved_ms = self._now_ms()

    def _is_read_on(self) -> bool:
        return not self.session.requests.is_put_off

    def _adjust_reading(self) -> None:
        """Read from each side exactly when there is room for what it may send."""
        pressure, transport, session = self._pressure, self.transport, self.session
        pressure.awaits_room = self._memory.awaits_grant
        if transport is not None and not transport.is_closing():
            is_wanted = pressure.is_client_wanted(session, has_twin=bool(self._twin)) and not self._is_resting
            if read_on(transport, is_wanted=is_wanted):
                self._times.client_ms = self._now_ms()  # when nothing was read is not the client's time
        if self._twin is not None and self._twin.read(is_wanted=pressure.is_response_wanted(session)):
            self._times.resumed_ms = self._now_ms()
        self.relayed.read(is_wanted=pressure.is_broker_wanted)
        if not pressure.makes_turn_due(session):
            return
        if session.awaits_long_turn:
            self._spawn(self._go_on_long, name=f"requests of {self.peer}")
        else:
            self._relay.shares.wait(self._go_on, is_little=session.has_little_to_do)

    async def _bind(self, brokers: tuple[BackingBroker, ...]) -> None:
        assert self._relay.binder is not None
        try:
            await self._relay.binder.bind_newcomers(brokers)
        except KproxyError as error:
            self._fail("client", "port_unavailable", str(error))
        else:
            self.session.brokers_are_bound()

    async def _answer(self, call: AnyCall, budget: AnswerBudget) -> None:
        with budget:
            await self._relay.turns.begin()
            self.session.has_yet_to_begin = False
            if not self.is_over:
                surplus_bytes = await self._relay.answer(self, call, budget)
                self._times.resumed_ms = self._now_ms()
                self._pump()
                self._memory.note_surplus(surplus_bytes)
                self._account()

    def _give_way(self) -> None:
        """End at once: others have waited long enough for what is held, and comes or leaves slowly."""
        self._fail(*self._memory.what_is_slow(self.buffered_bytes))
        self.abort()

    def _crash(self, fault: Exception) -> None:
        log.crash("connection_failed", fault, peer=self.peer, node=self.node_id)
        self._fail("kproxy", "internal_error", type(fault).__name__)

    def _fail(self, side: str, reason: str, detail: str, *, tell: Callable[..., None] = log.warning) -> None:
        """Say why, count it, and close after a small delay."""
        if self.is_over or self._has_failed:
            return
        self._has_failed = True
        self._relay.counting.count("connection_errors", 1, side, reason)
        tell("connection_refused", peer=self.peer, node=self.node_id, side=side, reason=reason, err=detail)
        if self.is_gone:
            self._end()
            return
        self.stop_reading()
        self._loop.call_later(self._relay.close_delay_seconds(), self.close)
