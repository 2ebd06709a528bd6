"""`ClosedTopicSearch`: whether the requests of one connection may name a topic that is closed to clients.

Of a Produce the names are read where they stand, for records may mention anything; if it does not come in one piece,
while it streams on. All others are small and searched as they are.
"""

from typing import Final

from kproxy.errors import PeerViolation
from kproxy.interception.closed_requests import CLOSED_KEYS
from kproxy.interception.closed_topics import REASON
from kproxy.interception.produce_topics import ProduceTopics
from kproxy.interception.routing import RoutingTable
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.frames import unpack_request_head

_SHORT_BYTES: Final = 2_048
"""To find nothing in a Produce up to this size takes less time than to read its names."""

_PRODUCE: Final = int(ApiKey.PRODUCE)


class ClosedTopicSearch:
    """Looks at each request as it begins, and at the rest of a large Produce. `routes` have the closed topics."""

    __slots__ = ("_routes", "streaming")

    def __init__(self, routes: RoutingTable) -> None:
        self._routes = routes
        self.streaming: ProduceTopics | None = None
        """The topics of a Produce that is streaming on; None when there is none."""

    def must_hold(self, data: bytes | memoryview, position: int, end: int) -> bool:
        """Tell whether the frame from `position` to `end`, maybe beyond `data`, may name a closed topic.

        What has not come whole is to be held until it is, for it is small; but a Produce, which is looked into while
        it streams on. Raises PeerViolation for what no client sends.
        """
        closed = self._routes.closed_topics
        _length, api_key, api_version, _correlation_id = unpack_request_head(data, position)
        if not closed.patterns or api_key not in CLOSED_KEYS:
            return False
        is_cut = end > len(data)
        if api_key != _PRODUCE:
            return is_cut or closed.may_be_in(data[position:end], api_key, api_version)
        if is_cut:
            return self._begin_to_follow(memoryview(data)[position:], api_version)
        is_short = end - position <= _SHORT_BYTES
        if is_short and not closed.may_be_in(data[position:end], api_key, api_version):
            return False
        return ProduceTopics(api_version, closed.patterns).feed(memoryview(data)[position:end])

    def _begin_to_follow(self, begun: memoryview, api_version: int) -> bool:
        topics = ProduceTopics(api_version, self._routes.closed_topics.patterns)
        has_found = topics.feed(begun)
        self.streaming = None if has_found else topics
        return has_found

    def follow(self, data: bytes | memoryview, size: int) -> None:
        """Look into the next `size` bytes of a Produce that streams on, if there is one. Raises PeerViolation."""
        if self.streaming is not None and self.streaming.feed(memoryview(data)[:size]):
            self._routes.closed_topics.on_refused(_PRODUCE)
            raise PeerViolation(REASON, "a Produce to a topic in which kproxy keeps its state")
