"""Client connections within the limits: who is let in, who was silent for too long, who sends too many requests.

Connections of other kproxy processes, whose clients were let in there, have none of these limits.
"""

import asyncio
from typing import Final, cast

from kproxy.net.relay.client_connection import ClientConnection
from kproxy.net.relay.limits.connection_quotas import UNLIMITED, OverQuota
from kproxy.net.relay.limits.request_rate import RequestRate
from kproxy.net.relay.relay import Relay
from kproxy.telemetry import logs

log = logs.logger("net.relay.limits")

_WITHOUT_PLACE: Final = frozenset({OverQuota.IN_ALL, OverQuota.UNAUTHENTICATED})
"""Refused for want of what a TLS handshake that stays silent holds, too."""


class LimitedConnection(ClientConnection):
    """A `ClientConnection` that is closed at once when there are too many, and when its client says nothing.

    Its time begins when it is made. Where so many requests per second are read and no more, it is read accordingly.
    """

    __slots__ = ("_is_awaited", "_opened_ms", "_rate")

    def __init__(self, relay: Relay, node_id: int) -> None:
        super().__init__(relay, node_id)
        self._is_awaited = True
        self._opened_ms = self._now_ms()
        self._rate: RequestRate | None = None
        if relay.limits.max_requests_per_second < UNLIMITED:
            self._rate = RequestRate(relay.limits.max_requests_per_second, self._opened_ms)

    def admit(self, host: str, port: int) -> bool:
        """Count the connection, which comes from there; False: there are too many, which is counted and said."""
        quotas = self._relay.quotas
        refusal = quotas.admit(self, host)
        if refusal in _WITHOUT_PLACE and self._relay.handshakes.turn_away(self._now_ms()):
            refusal = quotas.admit(self, host)
        if refusal is None:
            return True
        self.is_gone = self.is_over = True
        self._relay.counting.count("connections_refused", 1, refusal.value)
        limit = quotas.limit_of(refusal, host)
        reason, peer = refusal.value, f"{host}:{port}"
        log.warning("connection_over_limit", peer=peer, node=self.node_id, reason=reason, limit=limit)
        return False

    def withdraw(self) -> None:
        """Count the connection no more: it ended before it was made."""
        self._relay.quotas.leave(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        host, port, *_ = transport.get_extra_info("peername") or ("?", 0)
        if not self.admit(host, port):
            cast("asyncio.Transport", transport).abort()
            return
        if self._rate is not None:
            self._pressure.throttle = self._throttle
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._relay.quotas.leave(self)
        self._pressure.throttle = None
        if self.transport is not None:
            super().connection_lost(error)

    def sweep(self, now_ms: int) -> None:
        """Do as every client connection does, and close it when its client is awaited for too long, or is idle.

        It is idle also while a broker owes it an answer: it may be that neither side will ever be heard again, and no
        FIN comes. Brokers close such a connection, too (`Selector.maybeCloseOldestConnection`). But whom kproxy does
        not read, or does not answer yet, is not idle.
        """
        super().sweep(now_ms)
        if self._has_failed or self.transport is None or not self._is_open():
            return
        if self._is_awaited and (reason := self._missing()):
            if now_ms - self._opened_ms > self._relay.limits.handshake_deadline_ms:
                self._expire(reason)
        elif self._times.is_idle(now_ms):
            if self.may_be_closed and self.transport.is_reading():
                self._expire("idle")
            elif self._is_unanswered():
                self._expire("unanswered")

    def _is_unanswered(self) -> bool:
        """Tell whether a broker owes an answer for which there is room; what waits for a peer has its own limit."""
        return self.session.awaits_broker and self._twin is not None and self._twin.is_wanted

    def _missing(self) -> str:
        """Return what the client has yet to do before it is one of Kafka's; empty once it has done all."""
        if not self.session.requests.request_count:
            return "no_request"
        if self._relay.quotas.is_unproved(self):
            return "not_authenticated"
        self._is_awaited = False
        return ""

    def _expire(self, reason: str) -> None:
        self._relay.counting.count("connections_expired", 1, reason)
        log.info("connection_expired", peer=self.peer, node=self.node_id, reason=reason)
        self.close()

    def _end_rest(self) -> None:
        if self._is_open():
            self.look_again()  # before more is read: the broker may have taken nothing
        super()._end_rest()

    def _throttle(self, request_count: int) -> None:
        assert self._rate is not None
        pause_ms = self._rate.note(request_count, self._now_ms())
        if pause_ms > 0:
            self._pressure.is_throttled = True
            self._relay.counting.count("connection_throttles")
            log.debug("connection_throttled", peer=self.peer, node=self.node_id, pause_ms=pause_ms)
            self._loop.call_later(pause_ms / 1000, self._go_on_reading)

    def _go_on_reading(self) -> None:
        self._pressure.is_throttled = False
        self._pump()
