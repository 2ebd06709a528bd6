"""Requests that a client had sent when its connection ended.

A broker serves what it has received although the client is gone (`Selector.java`, closing channels). The leave of a
member that closes may stand behind a heartbeat that waits for durability, its last acknowledgements behind a fetch.
So kproxy goes on with them, too, but not for long and not with many, for nobody hears the answers.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from kproxy.interception.calls import AnyCall
from kproxy.interception.client_session import ClientSession
from kproxy.net.relay.upstream_twin import UpstreamTwin

MOST_SECONDS: Final = 5.0
"""How long they are served in all; as long as a write of the state log may take by default."""

MOST_REQUESTS: Final = 100
"""How many of them are served. Clients send a handful before they have an answer."""


class LeftRequests:
    """Bounds what is served still of `session`, whose client is gone. Calls `on_time_up` after `MOST_SECONDS`."""

    __slots__ = ("_left_count", "_session", "_timer")

    def __init__(self, session: ClientSession, *, on_time_up: Callable[[], None]) -> None:
        self._session = session
        self._left_count = MOST_REQUESTS
        self._timer = asyncio.get_running_loop().call_later(MOST_SECONDS, on_time_up)

    def is_over(self, twin: UpstreamTwin | None) -> bool:
        """Whether all is served, or enough, or the next answer is one that a lost `twin` owes; None is yet to come.

        An answer of it that waits to be changed is no such one.
        """
        session = self._session
        is_twin_lost = twin is not None and not twin.is_open and not session.responses.is_stuck
        is_served = not (session.is_barred or session.is_paused) or self._left_count < 0
        return is_served or (is_twin_lost and session.awaits_broker)

    def take_call(self) -> AnyCall | None:
        """Return the next request to answer, as `ClientSession` does; none of those beyond the bound."""
        call = self._session.take_call()
        if call is not None:
            self._left_count -= 1
        return None if self._left_count < 0 else call

    def end(self) -> None:
        """Call nobody any more."""
        self._timer.cancel()
