"""`OwnedAnswer`: an answer with records, handed on while its peer is known to serve the group."""

from collections.abc import Callable
from typing import Final

from kproxy.fleet.owners import Peer
from kproxy.net.broker_failures import PeerFailure
from kproxy.net.peers.peer_twin import Answer

MOVED: Final = "moved"
"""The reason when another process served the group before the answer had begun to come."""

LEASE_ENDED: Final = "lease_ended"
"""The reason when this process cannot know any more who serves the group: it may have stood still."""


class OwnedAnswer:
    """Hands what `peer` answers on to `answer`, or loses it where records may be another member's by now.

    That a record is acquired is in the owner's memory only: once another process serves the group, it may deliver it to
    others. What was on its way from the old owner, or lay in a socket while this process stood still, must not come
    after that.
    The rest of an answer that is lost is dropped, and the connection is of use for the next request.

    Args:
        answer: where it goes.
        peer: who gives it.
        owner: says which other process serves the group now. Asked when the first byte comes, and by `require_owner`.
        is_sure: whether this process can know that. Asked for every part.
    """

    __slots__ = ("_answer", "_has_begun", "_is_lost", "_is_sure", "_owner", "_peer")

    def __init__(
        self, answer: Answer, peer: Peer, *, owner: Callable[[], Peer | None], is_sure: Callable[[], bool]
    ) -> None:
        self._answer = answer
        self._peer = peer
        self._owner = owner
        self._is_sure = is_sure
        self._has_begun = self._is_lost = False

    def receive(self, data: bytes | memoryview) -> None:
        """Hand a part on, or lose the answer."""
        if not self._is_lost and (failure := self._failure()) is not None:
            self.lose(failure)
        if not self._is_lost:
            self._has_begun = True
            self._answer.receive(data)

    def end(self) -> None:
        """Take note that all of it came."""
        if not self._is_lost:
            self._answer.end()

    def lose(self, failure: PeerFailure) -> None:
        """Take note that the rest of it will not come."""
        if not self._is_lost:
            self._is_lost = True
            self._answer.lose(failure)

    def require_owner(self) -> None:
        """Return if `peer` serves the group still: of an answer that is handed on when it is whole, and decoded.

        Raises:
            PeerFailure: it does not, or nobody knows.
        """
        self._has_begun = False
        if (failure := self._failure()) is not None:
            raise failure

    def _failure(self) -> PeerFailure | None:
        name = self._peer.name
        if not self._is_sure():
            return PeerFailure(
                LEASE_ENDED, f"{name} answered, but this process has heard too long ago who serves the group"
            )
        if self._has_begun:
            return None
        owner = self._owner()
        is_owner = owner is not None and owner.token == self._peer.token
        return None if is_owner else PeerFailure(MOVED, f"{name} serves the group no more")
