"""`Silences`: what is said of peers that give no answer: what is new at once, and what goes on once a minute."""

from typing import Final

from kproxy.errors import MalformedMessage
from kproxy.net.broker_failures import PeerFailure
from kproxy.net.peers.peer_twin import GIVEN_UP
from kproxy.telemetry import logs

AGAIN_S: Final = 60.0
"""After so long what goes on is said again, with how often it happened meanwhile."""

MOST_REMEMBERED: Final = 100
"""Peers and reasons; of more, those that were said first are said as new ones."""

log = logs.logger("net.peers")


class Silences:
    """Members ask again each second, each of them: a line for each failure would say the same thing all day."""

    __slots__ = ("_said",)

    def __init__(self) -> None:
        self._said: dict[tuple[str, str], tuple[float, int]] = {}
        """When it was said last, and how often it happened since, by peer and reason."""

    def note(self, name: str, failure: PeerFailure | MalformedMessage, *, now_s: float) -> None:
        """Log why the peer of this name gave no answer, at `now_s` of a monotonic clock; at debug what was said."""
        reason = failure.reason if isinstance(failure, PeerFailure) else "unreadable"
        tell = log.debug
        keys: dict[str, object] = {"name": name, "reason": reason, "detail": str(failure)}
        if reason != GIVEN_UP:
            unsaid = self._unsaid(name, reason, now_s)
            tell = log.debug if unsaid is None else log.warning
            keys |= {"unsaid": unsaid} if unsaid else {}
        tell("peer_gave_no_answer", **keys)

    def _unsaid(self, name: str, reason: str, now_s: float) -> int | None:
        """Return how often this was not said since it was, None if it is not to be said now."""
        said_s, unsaid = self._said.get((name, reason), (None, 0))
        if said_s is not None and now_s - said_s < AGAIN_S:
            self._said[name, reason] = said_s, unsaid + 1
            return None
        self._said.pop((name, reason), None)  # the newest ones are last
        self._said[name, reason] = now_s, 0
        if len(self._said) > MOST_REMEMBERED:
            del self._said[next(iter(self._said))]
        return unsaid
