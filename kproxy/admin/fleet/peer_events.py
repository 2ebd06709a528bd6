"""`PeerEvents`: the events of the other processes of the fleet, for those who listen in this one.

While anybody does, each other process is asked once a second for its own events since the last question, by a task of
its own: one that hangs, or cannot be reached, holds up nobody else. Those who own slots are asked, as the newest map of
the fleet has them. Events of one process come in their order; between two processes there is none.

Whether a process is heard is told with an event `peer`, once for each change. It has a `state`: `heard`; `silent`, when
it did not answer; `older`, when it cannot tell of events yet; `gone`, when it owns no slots any more. `missed` says
that some of its events were lost, so that the lists are to be asked for again. Imports no HTTP server.
"""

import asyncio
from contextlib import suppress
from http import HTTPStatus
from typing import Final

from kproxy.admin.activity.happenings import Event
from kproxy.admin.activity.own_events import INTERVAL_S, Audience, EventsSince, events_of, path_after
from kproxy.admin.peer_views import PeerAnswer, PeerSilent, PeerViews, SlotOwners
from kproxy.fleet.owners import Peer
from kproxy.handlers.ports import Background
from kproxy.telemetry.metrics import Metrics

PATIENCE_MS: Final = 2_000
"""How long another process is waited for."""
AGAIN_S: Final = 5.0
"""After so long one that did not answer, or cannot, is asked again."""


class _Older(Exception):
    """A process does not know of events."""


class PeerEvents:
    """Asks the others, as long as somebody listens.

    Args:
        owners: which other processes there are.
        peer_views: asks them.
        background: where that goes on.
        metrics: counts the questions.
        interval_s: between two questions to a process.
        again_s: the same where it did not answer.
    """

    def __init__(
        self,
        owners: SlotOwners,
        peer_views: PeerViews,
        *,
        background: Background,
        metrics: Metrics,
        interval_s: float = INTERVAL_S,
        again_s: float = AGAIN_S,
    ) -> None:
        self._owners = owners
        self._peer_views = peer_views
        self._background = background
        self._metrics = metrics
        self._interval_s = interval_s
        self._again_s = again_s
        self._audience = Audience()
        self._standings: dict[Peer, Event] = {}
        self._over: asyncio.Event | None = None

    def begin(self, audience: Audience) -> None:
        """Ask on, unless that goes on already."""
        self._audience = audience
        if self._over is None:
            self._over = asyncio.Event()
            self._background.begin_now(self._follow_all, name="events of other processes")

    def end(self) -> None:
        """Ask no more: the process ends."""
        if self._over is not None:
            self._over.set()

    def standings(self) -> bytes:
        """Return which processes are heard now, for who begins to listen: an event `peer` for each."""
        return "".join(event.text() for event in self._standings.values()).encode()

    async def _follow_all(self) -> None:
        over = self._over
        assert over is not None
        try:
            async with asyncio.TaskGroup() as following:
                tasks: dict[Peer, asyncio.Task[None]] = {}
                while self._audience.is_there() and not over.is_set():
                    self._keep_to_map(tasks, following)
                    with suppress(TimeoutError):
                        async with asyncio.timeout(self._interval_s):
                            await over.wait()
                self._let_go(over)  # at once: who comes while tasks end begins anew
                for task in tasks.values():
                    task.cancel()
        finally:
            self._let_go(over)

    def _let_go(self, over: asyncio.Event) -> None:
        if self._over is over:
            self._over = None
            self._standings.clear()

    def _keep_to_map(self, tasks: dict[Peer, asyncio.Task[None]], following: asyncio.TaskGroup) -> None:
        peers = dict.fromkeys(self._owners.peers())
        for peer in [each for each in tasks if each not in peers]:
            tasks.pop(peer).cancel()
            self._stand(peer, "gone", f"{peer.name} owns no slots any more, or has begun anew")
            self._standings.pop(peer, None)
        for peer in peers:
            if peer not in tasks:
                tasks[peer] = following.create_task(self._follow(peer), name=f"events of {peer.name}")

    async def _follow(self, peer: Peer) -> None:
        cursor = ""
        while True:  # until it is cancelled
            told = await self._ask_and_tell(peer, cursor)
            cursor = cursor if told is None else told.cursor
            await asyncio.sleep(self._again_s if told is None else self._interval_s)

    async def _ask_and_tell(self, peer: Peer, cursor: str) -> EventsSince | None:
        """Return what a process told since `cursor`, and tell that; None when it did not, which is told, too."""
        try:
            told = await self._ask(peer, cursor)
        except PeerSilent as silent:
            self._stand(peer, "silent", str(silent))
            return None
        if told is None:
            self._stand(peer, "older", f"{peer.name} runs a version that cannot tell of events")
            return None
        reason = f"some events of {peer.name} are lost: ask for the lists" if told.has_missed else ""
        self._stand(peer, "heard", reason, has_missed=told.has_missed)
        if told.chunk:
            self._audience.tell(told.chunk)
        return told

    async def _ask(self, peer: Peer, cursor: str) -> EventsSince | None:
        try:
            answer = await self._peer_views.ask(peer, path_after(cursor), patience_ms=PATIENCE_MS)
            told = _events_in(peer, answer)
        except PeerSilent:
            self._metrics.count("peer_views", 1, "failed")
            raise
        self._metrics.count("peer_views", 1, "answered")
        return told

    def _stand(self, peer: Peer, state: str, reason: str = "", *, has_missed: bool = False) -> None:
        """Note how a process stands, and tell that if it is new."""
        before = self._standings.get(peer)
        if before is not None and before.data["state"] == state and not has_missed:
            return
        data = {"process": peer.name, "state": state, "missed": False, "reason": reason}
        self._standings[peer] = Event("peer", {**data, "reason": "" if has_missed else reason})
        self._audience.tell(Event("peer", {**data, "missed": has_missed}).text().encode())


def _events_in(peer: Peer, answer: PeerAnswer) -> EventsSince | None:
    """Return what a process told, None when it does not know of events. Raises PeerSilent for anything else."""
    if answer.status == HTTPStatus.NOT_FOUND:
        return None
    if answer.status != HTTPStatus.OK:
        raise PeerSilent(f"{peer.name} answered {answer.status}")
    try:
        return events_of(answer.body)
    except ValueError as error:
        raise PeerSilent(f"{peer.name} told what cannot be understood: {error}") from None
