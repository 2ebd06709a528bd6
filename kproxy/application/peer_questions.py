"""`PeerQuestions`: other processes asked for what they hold, on their internal listeners."""

from dataclasses import replace
from typing import Final

from kproxy.admin.peer_views import MOST_ANSWER_BYTES, PeerAnswer, PeerSilent
from kproxy.errors import CoordinatorNotAvailable
from kproxy.fleet.owners import Peer
from kproxy.net.peers.peer_dialler import PeerDialler
from kproxy.net.peers.peer_limits import PeerLimits
from kproxy.net.peers.views import ask_view

_STATUS_BYTES: Final = 2
_LIMITS: Final = replace(PeerLimits(), most_answer_bytes=_STATUS_BYTES + MOST_ANSWER_BYTES)


class PeerQuestions:
    """Implements `PeerViews`: a connection for each question."""

    def __init__(self, dialler: PeerDialler) -> None:
        self._dialler = dialler

    async def ask(self, peer: Peer, path: str, *, patience_ms: int) -> PeerAnswer:
        """Return what `peer` tells of itself. Raises PeerSilent."""
        try:
            status, body = await ask_view(self._dialler, peer, path, limits=_LIMITS, patience_ms=patience_ms)
        except CoordinatorNotAvailable as silent:
            raise PeerSilent(str(silent)) from silent
        return PeerAnswer(status, body)
