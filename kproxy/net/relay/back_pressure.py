"""Who of a connection's two peers is read on. Decides, and does nothing.

- the broker's socket is full: the client is read no further;
- the client's socket is full: neither broker nor client is read any further, and kproxy makes no answer of its own;
- something waits (for the twin to connect, for an answer of kproxy's own, for too many owed responses): likewise.

But a large response that is held, and has room, is read to its end: others may wait for that, see `buffer_budget`.
What comes behind it waits, for a response that begins while the client is full would be read to its end as well, and so
on. A large request is read when it would be answered next: nothing is owed before it, and its client takes answers. So
none is whole, and takes room that others wait for, for as long as its client or its broker likes.
What came whole in one read all the same, and small ones, count as they came until then (`calls.UndecodedCall`).
Who waits for a turn, unread, because all have done too much is read no further before it.
Nor is gone on with requests that came already, and wait for another turn, where there is no room for their answers.
"""

from collections.abc import Callable
from typing import Final

from kproxy.interception.client_session import ClientSession
from kproxy.interception.held_frame import HeldFrame
from kproxy.net.relay.memory.buffer_budget import SMALL_FRAME_BYTES

MAX_BACKLOG_BYTES: Final = 256 * 1024
"""Bytes that may wait behind a request being answered, or for the twin, before the client is read no further; and as
many of answers of kproxy's own behind one that the broker owes."""

MAX_OWED_RESPONSES: Final = 1000
"""A client that pipelines more unanswered requests than this is read no further until some are answered."""


class BackPressure:
    """What keeps the peers of one connection from being read."""

    __slots__ = (
        "awaits_room",
        "is_broker_full",
        "is_client_full",
        "is_ending",
        "is_throttled",
        "is_turn_due",
        "throttle",
    )

    def __init__(self) -> None:
        self.is_broker_full = False
        self.is_client_full = False
        self.awaits_room = False
        """A frame that is held waits for room for what comes next of it."""
        self.is_ending = False
        """No further requests are taken."""
        self.is_throttled = False
        """The client has sent more requests than it may; nothing more is read of it for a while."""
        self.throttle: Callable[[int], None] | None = None
        """Told how many requests came by now, it may set `is_throttled`, and unsets it later."""
        self.is_turn_due = False
        """Another turn of requests that came already, or for a large answer, is about to begin."""

    @property
    def is_broker_wanted(self) -> bool:
        """Whether there is room for what the broker sends."""
        return not (self.is_client_full or self.awaits_room)

    def makes_turn_due(self, session: ClientSession) -> bool:
        """Tell, once, that another turn is due, for an answer or requests that came already, and that there is room."""
        if self.is_turn_due:
            return False
        is_crowded = self.is_broker_full or self.is_throttled or _is_much_owed(session)
        are_requests_due = session.is_paused and not is_crowded and not self.awaits_room
        # A whole answer has its room; the frame that waits for some is a request then.
        self.is_turn_due = not self.is_client_full and (session.responses.awaits_turn or are_requests_due)
        return self.is_turn_due

    def is_client_wanted(self, session: ClientSession, *, has_twin: bool) -> bool:
        """Tell whether there is room for what the client sends."""
        if self.throttle is not None and not self.is_throttled:
            self.throttle(session.requests.request_count)
        if self.is_ending or self.is_throttled or self.awaits_room or session.requests.is_put_off:
            return False
        is_clogged = (
            self.is_broker_full
            or self.is_client_full
            or (not has_twin and session.unsent_bytes > 0)
            or _is_much_owed(session)
            or session.waiting_bytes > MAX_BACKLOG_BYTES
        )
        if _is_large(session.held_frames[0]):
            return is_large_request_wanted(session)
        return not is_clogged

    def is_response_wanted(self, session: ClientSession) -> bool:
        """Tell whether there is room for what the broker sends, or for the rest of a response that is held.

        Nothing is read behind one that waits: to be changed, for a port, or for the client.
        """
        if session.responses.is_stuck:
            return False
        return self.is_broker_wanted or (not self.awaits_room and _is_large(session.held_frames[1]))


def is_large_request_wanted(session: ClientSession) -> bool:
    """Tell whether a request that is held, if it is large, may be read on: it would be answered when it is whole."""
    is_next = not session.slots and not session.responses.is_client_full
    return is_next or not _is_large(session.held_frames[0])


def _is_much_owed(session: ClientSession) -> bool:
    return session.owed_responses > MAX_OWED_RESPONSES or session.slots.kept_bytes > MAX_BACKLOG_BYTES


def _is_large(frame: HeldFrame) -> bool:
    """Small ones wait for no room, and a client may send one behind the other for ever, never at the end of any."""
    return frame.frame_bytes > SMALL_FRAME_BYTES
