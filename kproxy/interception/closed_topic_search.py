"""`ClosedTopicSearch`: whether the requests of one connection may name a topic that is closed to clients.

Of a Produce the names are read where they stand, for records may mention anything; if it does not come in one piece,
while it streams on. All others are small and searched as they are.

A client may name so much in a Produce that to read the names takes longer than all else. So they are read in steps, of
which each connection has some in a turn of the event loop, and all together what the turn has left. Beyond these a
whole request is searched for the wanted bytes, wherever they stand: where there are none, none are named. Where there
are some, and while it streams on, it is read on in another turn, for records of honest producers may have them.
"""

from typing import Final

from kproxy.errors import PeerViolation
from kproxy.interception.closed_requests import CLOSED_KEYS
from kproxy.interception.closed_topics import REASON
from kproxy.interception.produce_topics import ProduceTopics
from kproxy.interception.routing import RoutingTable
from kproxy.interception.turns.turn_share import TurnShare
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.frames import unpack_request_head

STEPS_A_TURN: Final = 2_000
"""How many fields of Produce requests of one connection are read in a turn of the loop: up to 2 ms."""

STEPS_OF_A_SHORT_TURN: Final = 250
"""The same where others have used the turn up: 50 topics with a partition each, or 120 partitions of one."""

_SHORT_BYTES: Final = 8 * 1024
"""To find nothing in a Produce up to this size takes less time than to read its names."""

_PRODUCE: Final = int(ApiKey.PRODUCE)


class ClosedTopicSearch:
    """Looks at each request as it begins, and at the rest of a large Produce. `routes` have the closed topics.

    What it takes to read names is spent of `share`.
    """

    __slots__ = ("_routes", "_share", "steps_left", "streaming", "unread_bytes")

    def __init__(self, routes: RoutingTable, share: TurnShare) -> None:
        self._routes = routes
        self._share = share
        self.steps_left = STEPS_A_TURN
        """How many fields are read in this turn."""
        self.streaming: ProduceTopics | None = None
        """The topics of a Produce that is streaming on; None when there is none."""
        self.unread_bytes = 0
        """How many bytes at the end of what was looked into last, of that Produce, have to wait for another turn."""

    def begin_anew(self) -> None:
        """Follow nothing any more: what comes next is the beginning of a request."""
        self.streaming, self.unread_bytes = None, 0

    def must_hold(self, data: bytes | memoryview, position: int, end: int) -> bool:
        """Tell whether the frame from `position` to `end`, maybe beyond `data`, may name a closed topic.

        What has not come whole is to be held until it is, for it is small; but a Produce, which is looked into while
        it streams on, and so may one that is whole: see `unread_bytes`. Raises PeerViolation for what no client sends.
        """
        closed = self._routes.closed_topics
        _length, api_key, api_version, _correlation_id = unpack_request_head(data, position)
        if not closed.patterns or api_key not in CLOSED_KEYS:
            return False
        is_cut = end > len(data)
        if api_key != _PRODUCE:
            return is_cut or closed.may_be_in(data[position:end], api_key, api_version)
        is_short = not is_cut and end - position <= _SHORT_BYTES
        if is_short and not closed.may_be_in(data[position:end], api_key, api_version):
            return False
        return self._names_closed(memoryview(data)[position:end], api_version, is_cut=is_cut)

    def _names_closed(self, frame: memoryview, api_version: int, *, is_cut: bool) -> bool:
        """Tell whether a closed topic is named in what came of a Produce, and follow it if more is to be read."""
        closed = self._routes.closed_topics
        topics = ProduceTopics(api_version, closed.patterns)
        if self._feed(topics, frame):
            return True
        if self.unread_bytes and not is_cut and not closed.may_be_in(frame, _PRODUCE, api_version):
            self.unread_bytes = 0
        if is_cut or self.unread_bytes:
            self.streaming = topics
        return False

    def follow(self, data: bytes | memoryview, size: int) -> int:
        """Look into the next `size` bytes, or what came of them, of a Produce that streams on, if there is one.

        Returns how many at the end of these have to wait for another turn. Raises PeerViolation.
        """
        if self.streaming is None:
            return 0
        if self._feed(self.streaming, memoryview(data)[:size]):
            self._routes.closed_topics.on_refused(_PRODUCE)
            raise PeerViolation(REASON, "a Produce to a topic in which kproxy keeps its state")
        return self.unread_bytes

    def _feed(self, topics: ProduceTopics, data: memoryview) -> bool:
        """Look into `data` as far as the turn allows, but a step at least."""
        left = self.steps_left
        has_found = topics.feed(data, left if left > 0 else 1)
        step_count = topics.step_count
        self.steps_left = left - step_count
        self.unread_bytes = topics.unread_bytes
        self._share.spend(step_count)
        return has_found
