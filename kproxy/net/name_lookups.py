"""Names of hosts become addresses beside the event loop, in threads that nothing else waits for.

A name server that says nothing keeps the C library waiting, and nobody can end that. asyncio's own lookups would so
occupy the threads in which all else is done that blocks, and hold up the end of the process.
"""

import asyncio
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from weakref import WeakKeyDictionary

from kproxy.net.broker_failures import BrokerFailure
from kproxy.settings.addresses import HostPort
from kproxy.wording import counted

MOST_AT_ONCE: Final = 64
"""Lookups under way, each in a thread; further names wait for one that ends."""

MOST_OF_ONE_NAME: Final = 4
ANEW_AFTER_S: Final = 30.0
"""A lookup that takes so long may never end: beside it the name is looked up anew, up to `MOST_OF_ONE_NAME` times.

By default glibc gives a name server up after 5 s, and asks each twice (resolv.conf(5)).
"""

Resolve: TypeAlias = Callable[[str], Sequence[Any]]
"""What `socket.getaddrinfo` returns for the TCP addresses of a name; blocks, and raises OSError or UnicodeError."""


@dataclass(slots=True, eq=False)
class _Lookup:
    host: str
    outcome: asyncio.Future[Sequence[Any] | Exception]
    running_count: int = 0
    waiting_count: int = 0
    begun_s: float = 0.0


class NameLookups:
    """Looks names up for one event loop, each once at a time: who asks meanwhile gets the same answer.

    So who dials again and again gets the answer of a lookup that takes longer than a dial. Nothing is kept of one that
    has ended. A name that nobody answers for occupies `MOST_OF_ONE_NAME` threads at most.
    """

    def __init__(
        self,
        resolve: Resolve | None = None,
        *,
        most_at_once: int = MOST_AT_ONCE,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._resolve = resolve or _tcp_addresses
        self._most_at_once = most_at_once
        self._now_s = now_s
        self._running_count = 0
        self._lookups: dict[str, _Lookup] = {}
        self._queue: deque[_Lookup] = deque()

    async def addresses_of(self, address: HostPort, *, timeout_ms: int) -> list[tuple[str, int]]:
        """Return each address of a host with its family, best first; one in numbers at once, without a thread.

        Raises:
            BrokerFailure: there is none, or no answer within `timeout_ms`; the text says so of the name.
        """
        host = address.host
        try:
            found = _in_numbers(host) or await self._found(host, timeout_ms)
        except UnicodeError as error:
            # What Python makes of a label that is empty or too long, before anybody is asked.
            raise BrokerFailure("unresolvable", f"{host!r} can be no host name: {error}") from error
        except (OSError, RuntimeError) as error:
            detail = f"the name {host!r} cannot be resolved: {_in_words(error)}"
            raise BrokerFailure("unresolvable", detail) from error
        return [(str(sockaddr[0]), family) for family, _, _, _, sockaddr in found]

    async def _found(self, host: str, timeout_ms: int) -> Sequence[Any]:
        lookup = self._lookups.get(host)
        if lookup is None:
            lookup = self._lookups[host] = _Lookup(host, asyncio.get_running_loop().create_future())
        if self._is_due(lookup):
            self._queue.append(lookup)
            self._begin_next()
        lookup.waiting_count += 1
        try:
            await asyncio.wait({lookup.outcome}, timeout=timeout_ms / 1000)
        finally:
            lookup.waiting_count -= 1
            self._forget_if_unwanted(lookup)
        if not lookup.outcome.done():
            raise BrokerFailure("lookup_timeout", self._timeout_in_words(lookup, timeout_ms))
        outcome = lookup.outcome.result()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _is_due(self, lookup: _Lookup) -> bool:
        if lookup in self._queue:
            return False
        is_late = self._now_s() - lookup.begun_s >= ANEW_AFTER_S
        return lookup.running_count == 0 or (is_late and lookup.running_count < MOST_OF_ONE_NAME)

    def _begin_next(self) -> None:
        while self._queue and self._running_count < self._most_at_once:
            self._begin(self._queue.popleft())

    def _begin(self, lookup: _Lookup) -> None:
        lookup.begun_s = self._now_s()
        lookup.running_count += 1
        self._running_count += 1
        arguments = (asyncio.get_running_loop(), lookup)
        try:
            threading.Thread(
                target=self._look_up, args=arguments, name=f"look up {lookup.host}", daemon=True
            ).start()
        except RuntimeError as no_thread:
            self._end(lookup, no_thread)

    def _look_up(self, loop: asyncio.AbstractEventLoop, lookup: _Lookup) -> None:
        outcome: Sequence[Any] | Exception
        try:
            outcome = self._resolve(lookup.host)
        except Exception as failure:  # noqa: BLE001 - the top of a thread; who waits raises it
            outcome = failure
        with suppress(RuntimeError):  # the loop may have ended meanwhile
            loop.call_soon_threadsafe(self._end, lookup, outcome)

    def _end(self, lookup: _Lookup, outcome: Sequence[Any] | Exception) -> None:
        self._running_count -= 1
        lookup.running_count -= 1
        if not lookup.outcome.done():
            lookup.outcome.set_result(outcome)
            self._forget(lookup)
        self._begin_next()

    def _forget_if_unwanted(self, lookup: _Lookup) -> None:
        """Forget a lookup that has not begun, and that nobody waits for any more."""
        if lookup.waiting_count or lookup not in self._queue:
            return
        self._queue.remove(lookup)
        if lookup.running_count == 0:
            self._forget(lookup)

    def _forget(self, lookup: _Lookup) -> None:
        self._lookups.pop(lookup.host, None)
        with suppress(ValueError):
            self._queue.remove(lookup)

    def _timeout_in_words(self, lookup: _Lookup, timeout_ms: int) -> str:
        advice = "see whether the name servers of this host answer"
        if lookup.running_count:
            return f"the name {lookup.host!r} was not resolved within {timeout_ms} ms; {advice}"
        others = f"{counted(self._running_count, 'other')} are under way and do not end"
        return f"the name {lookup.host!r} was not looked up within {timeout_ms} ms: {others}; {advice}"


_of_loops: "WeakKeyDictionary[asyncio.AbstractEventLoop, NameLookups]" = WeakKeyDictionary()


def lookups_of_this_loop() -> NameLookups:
    """Return what all who run in this event loop look names up with, so that the bound holds for all together."""
    loop = asyncio.get_running_loop()
    lookups = _of_loops.get(loop)
    if lookups is None:
        lookups = _of_loops[loop] = NameLookups()
    return lookups


def _tcp_addresses(host: str) -> Sequence[Any]:
    return socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)


def _in_numbers(host: str) -> Sequence[Any]:
    """Return what an address in numbers is, and nothing for a name. Raises UnicodeError."""
    try:
        return socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except OSError:
        return ()


def _in_words(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
