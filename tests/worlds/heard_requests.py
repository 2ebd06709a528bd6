"""A `RequestStream` that is listened to, and frames for it."""

import struct
from collections.abc import Collection

from kproxy.interception.closed_topics import ClosedTopics
from kproxy.interception.request_stream import RequestStream
from kproxy.interception.routing import Disposition, RoutingTable
from kproxy.interception.turns.turn_share import CommonShare, TurnShare
from kproxy.wire.frames import RequestHead

JOIN_GROUP = 11
SHARE_FETCH = 78
SERVED = {SHARE_FETCH: (1, 2)}


def frame(api_key: int, version: int, correlation_id: int, body: bytes = b"") -> bytes:
    payload = struct.pack(">hhi", api_key, version, correlation_id) + body
    return struct.pack(">i", len(payload)) + payload


def produce(correlation_id: int, acks: int, body: bytes = b"") -> bytes:
    return frame(0, 3, correlation_id, b"\x00\x01c" + b"\xff\xff" + struct.pack(">h", acks) + body)


class TurnOfMany(CommonShare):
    """The share of a turn that other sessions have a part in, until a test begins another one."""

    def spend(self, work: int) -> None:
        self.left -= work


class Heard:
    """A stream, and everything it said."""

    def __init__(
        self,
        *,
        bar: bool = False,
        max_request_bytes: int = 1 << 20,
        share_group_ids: Collection[str] = (),
        share: CommonShare | None = None,
        closed_topics: ClosedTopics | None = None,
    ) -> None:
        self.relayed: list[tuple[int, int, Disposition]] = []
        self.held: list[tuple[int, bytes]] = []
        self._bar = bar
        routes = RoutingTable(SERVED, share_group_ids, closed_topics)
        self.turn = TurnShare(share)
        self.stream = RequestStream(routes, max_request_bytes, self._relay, self._hold, self.turn)

    def _relay(self, head: RequestHead, disposition: Disposition) -> None:
        self.relayed.append((head.api_key, head.correlation_id, disposition))

    def _hold(self, head: RequestHead, whole: memoryview) -> bool:
        self.held.append((head.correlation_id, bytes(whole)))
        return self._bar

    @property
    def sent(self) -> bytes:
        return b"".join(self.stream.for_broker)
