"""`Holder`: whose bytes count for the budget, and whose connection may end for it."""

from collections.abc import Hashable


class Holder:
    """An owner of bytes whose connection can be ended, for others wait for them."""

    __slots__ = ()

    @property
    def may_be_ended(self) -> bool:
        """Whether there is anybody to tell."""
        return True

    @property
    def client(self) -> Hashable:
        """Return whose it is: all that one client has, has one turn among those of others. None: nobody else's."""
        return None

    @property
    def is_awaited(self) -> bool:
        """Whether the rest of a frame is awaited from a peer, and no answer from kproxy or a broker."""
        return True

    @property
    def for_peers_bytes(self) -> int:
        """Of what it holds, how much has its peers to move: what came of frames, and what they have yet to take."""
        return 0

    @property
    def moved_bytes(self) -> int:
        """How much of that came, or was taken, in all."""
        return 0

    def overstay(self) -> None:
        """End it, if a frame that is not whole is why it had the place beyond the limit for too long."""

    def stand_still(self) -> None:
        """End it: it holds much, and moves little."""


def client_of(owner: Hashable) -> Hashable:
    """Return whose `owner` is: a client, or itself where it is nobody's."""
    return owner.client if isinstance(owner, Holder) and owner.client is not None else owner
