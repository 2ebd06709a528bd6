"""The client's half of a `ClientSession`: bytes from the client become bytes for the broker, and requests to answer.

A forwarded frame is never held whole: once its head is known the rest streams on, one buffer per received chunk.
What is held back at most: 11 bytes of a head split over chunks; a Produce up to its acks; what might write to a group
up to the group's id; a frame that is examined, served or refused, up to `MAX_HELD_BYTES`.
"""

from collections.abc import Callable, Mapping
from typing import Final

from kproxy.errors import PeerViolation
from kproxy.interception.closed_groups import GROUP_KEYS
from kproxy.interception.closed_requests import CLOSED_KEYS
from kproxy.interception.closed_topic_search import STEPS_A_TURN, STEPS_OF_A_SHORT_TURN, ClosedTopicSearch
from kproxy.interception.held_frame import HeldFrame
from kproxy.interception.known_versions import SHARE_KEYS
from kproxy.interception.request_backlog import RequestBacklog
from kproxy.interception.routing import Disposition, RoutingTable
from kproxy.interception.sasl_watch import MAX_SASL_BYTES, SASL_KEYS
from kproxy.interception.turns.turn_share import TurnShare, work_of_frame, work_of_relayed
from kproxy.wire import group_ids
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.frames import (
    LENGTH_BYTES,
    MIN_REQUEST_BYTES,
    REQUEST_HEAD_BYTES,
    RequestHead,
    refuse_request_length,
    unpack_request_head,
)
from kproxy.wire.produce_acks import UNDECIDED, owes_response
from kproxy.wording import counted

MAX_HELD_BYTES: Final = 8 * 1024 * 1024
"""Of a request that is examined or served. 150,000 topics or groups fit in; decoding more, made of empty elements,
would hold up every connection for seconds."""

HELD_BYTES_A_TURN: Final = 2 * 1024
"""Of requests that are held, before those behind them wait for another turn of the loop: of one connection."""

_BYTES_OF_A_SHORT_TURN: Final = 64
"""The same where others have used the turn up, or wait for it: a few requests that stream on, or one that is held."""

LARGE_FRAME_BYTES: Final = 16 * 1024
"""A request that is held, and longer, is handed over in a long turn: to decode it may take as much as 30 ms."""

_BYTES_FOR_RELAYED: Final = 4
"""What a request that streams on counts for: so 500 of them are one turn's."""

_PRODUCE: Final = int(ApiKey.PRODUCE)
_FORWARD: Final = Disposition.FORWARD
_REWRITE: Final = Disposition.REWRITE
_NEUTRALISE: Final = Disposition.NEUTRALISE
_NOTICE: Final = Disposition.NOTICE
_GUARD: Final = Disposition.GUARD
_STREAMING: Final = (_FORWARD, _REWRITE, _NEUTRALISE, _NOTICE)
_STREAMS_ON: Final = -1
_CLOSABLE_KEYS: Final = CLOSED_KEYS | GROUP_KEYS


def is_large(frame: bytes | memoryview) -> bool:
    """Tell whether a request that is held is to be decoded in a long turn."""
    return len(frame) > LARGE_FRAME_BYTES


class RequestStream:
    """Cuts the client's bytes into requests and decides each.

    Args:
        routes: the table of dispositions, read at each frame.
        max_request_bytes: `socket.request.max.bytes`, inclusive.
        on_relayed: called with the head of each request that streams on and owes a response, before its bytes go out.
        on_held: called with the head and the whole frame (without its length) of each request that is held; it returns
            True when the requests behind it have to wait for its answer.
        share: where it is used up, a request that is held waits for another turn once it is whole; where overdrawn, all
            does but the rest of one that is held.
    """

    __slots__ = (
        "_backlog",
        "_begun_count",
        "_body_left",
        "_closed",
        "_is_fresh_long_turn",
        "_max_request_bytes",
        "_on_held",
        "_on_relayed",
        "_routes",
        "_share",
        "_turn_bytes_left",
        "advertised",
        "awaits_long_turn",
        "for_broker",
        "held",
        "is_barred",
        "is_paused",
        "is_put_off",
        "waiting_frame_bytes",
    )

    def __init__(
        self,
        routes: RoutingTable,
        max_request_bytes: int,
        on_relayed: Callable[[RequestHead, Disposition], None],
        on_held: Callable[[RequestHead, memoryview], bool],
        share: TurnShare,
    ) -> None:
        self._routes = routes
        self._closed = ClosedTopicSearch(routes, share)
        self._max_request_bytes = max_request_bytes
        self._on_relayed = on_relayed
        self._on_held = on_held
        self._body_left = 0
        self.held = HeldFrame()
        """What is held of a frame."""
        self._backlog = RequestBacklog()
        self.for_broker: list[bytes | memoryview] = []
        self._turn_bytes_left = HELD_BYTES_A_TURN
        self._is_fresh_long_turn = False
        self._share = share
        self.is_barred = False
        self.is_paused = False
        """Whether requests wait for nothing but another turn, with `go_on`: this one had enough to do."""
        self.is_put_off = False
        """Whether nobody has looked at the first of these: all connections together had more than enough to do."""
        self.awaits_long_turn = False
        """Whether the first of these is large, and waits for a long turn."""
        self.waiting_frame_bytes = 0
        """The size of the first of these if that is looked into when its turn comes; 0 when it may be many."""
        self._begun_count = 0
        self.advertised: Mapping[int, tuple[int, int]] | None = None
        """What the client was told on this connection, both ends inclusive; None when it did not ask."""

    @property
    def is_mid_frame(self) -> bool:
        """Whether the rest of a frame that began has yet to come."""
        return self._body_left > 0 or bool(self.held.came)

    @property
    def request_count(self) -> int:
        """How many requests came and are whole, those without an answer too."""
        return self._begun_count - (self._body_left > 0)

    @property
    def is_outdated(self) -> bool:
        """Whether the client was told of other share APIs than are served by now.

        A share consumer does not ask a second time, and Java's spins on a connection that has none of them.
        """
        told, heartbeat = self.advertised, ApiKey.SHARE_GROUP_HEARTBEAT
        return told is not None and told.get(heartbeat) != self._routes.served.get(heartbeat)

    @property
    def backlog_bytes(self) -> int:
        """Bytes that wait behind a request being answered, or for another turn."""
        return self._backlog.byte_count

    @property
    def held_bytes(self) -> int:
        """Bytes of a frame that is held until it is whole."""
        return len(self.held.came)

    def receive(self, data: bytes | memoryview) -> None:
        """Take what the client sent. Raises PeerViolation when it cannot be Kafka's protocol."""
        if self.is_barred or self.is_paused:
            self._backlog.append(data)
        elif self._share.is_overdrawn and not self.held.frame_bytes:
            # With what is held of a head: that is forgotten when its client leaves, and nothing may stay of the rest.
            self._backlog.append(self.held.take() + data if self.held.came else data)
            self.is_paused = self.is_put_off = True
            self.waiting_frame_bytes = len(data)
        else:
            begun_count = self._begun_count
            self._begin_turn(is_long=False)
            self._take(data)
            self._share.spend(work_of_relayed(self._begun_count - begun_count))

    def forget(self) -> None:
        """Keep nothing of what came."""
        self.held.take()
        self._backlog, self.for_broker = RequestBacklog(), []

    def passes(self, size: int) -> bool:
        """Tell whether the next `size` bytes only have to be sent on, by the caller; if so, they count as received."""
        if size > self._body_left or self.for_broker or self.is_paused:
            return False
        if self._closed.streaming is not None and not self._closed.streaming.passes(size):
            return False
        self._body_left -= size
        return True

    def go_on(self, *, in_long_turn: bool = False, for_little: bool = False) -> None:
        """Go on with the requests that waited for an answer, or for another turn. Raises PeerViolation as they do.

        One that is large is handed over only `in_long_turn`, of which there is one at a time in the whole process. And
        `for_little`, before others who wait, no more than a few are.
        """
        begun_count, self.is_barred, self.is_paused = self._begun_count, False, False
        self._begin_turn(is_long=in_long_turn, is_short=for_little)
        while not (self.is_barred or self.is_paused) and (data := self._backlog.take()) is not None:
            self._take(data)
        self._share.spend(work_of_relayed(self._begun_count - begun_count))

    def _begin_turn(self, *, is_long: bool, is_short: bool = False) -> None:
        is_short |= self._share.is_used_up
        self._turn_bytes_left = _BYTES_OF_A_SHORT_TURN if is_short else HELD_BYTES_A_TURN
        self._closed.steps_left = STEPS_OF_A_SHORT_TURN if is_short else STEPS_A_TURN
        self._is_fresh_long_turn = is_long
        self.is_put_off, self.awaits_long_turn, self.waiting_frame_bytes = False, False, 0

    def _take(self, data: bytes | memoryview) -> None:
        """Go through `data` up to the end of a request that those behind it wait for, or with which the turn ends."""
        rest: bytes | memoryview | None = data
        while rest is not None and not self.is_barred and self._turn_bytes_left > 0:
            rest = self._advance(rest)
        if rest is not None:
            self._backlog.put_back(rest)
            self.is_paused = not self.is_barred

    def _advance(self, data: bytes | memoryview) -> bytes | memoryview | None:
        """Consume `data` up to the end of the next held frame, and return what follows it."""
        if self._closed.streaming is not None and self._closed.follow(data, self._body_left):
            return self._pass_read(data, self._body_left)
        if self._body_left >= len(data):
            self._body_left -= len(data)
            if data:
                self.for_broker.append(data)
            return None
        if self.held.frame_bytes:
            return self._fill_held(data)
        if self.held.came:
            # Part of a head, a Produce without its acks, a JoinGroup without its group: cut again with what follows.
            data = self.held.take() + data
        return self._cut(data)

    def _fill_held(self, data: bytes | memoryview) -> bytes | memoryview | None:
        missing = self.held.missing_bytes
        frame = self.held.go_on(data[:missing])
        if frame is None:
            return None
        rest = memoryview(data)[missing:] if len(data) > missing else None
        if self._must_wait(frame):
            if rest is not None:
                self._backlog.put_back(rest)
            return frame
        self._hand_over(frame)
        return rest

    def _cut(self, data: bytes | memoryview) -> bytes | memoryview | None:
        """Let pass what streams on in `data`, which begins with the rest of a forwarded body or with a frame."""
        begun_count = self._begun_count
        position, held_end = self._walk(data)
        if self._begun_count > begun_count:
            self._is_fresh_long_turn = False
        if self._closed.unread_bytes:
            return self._pass_read(data, position)
        self._forward(data, min(position, len(data)))
        if held_end:
            return self._hold(data, position, held_end)
        if self._turn_bytes_left <= 0 and position < len(data):
            return memoryview(data)[position:]
        self.held.begin(data[position:])
        self._body_left = max(position - len(data), 0)
        return None

    def _pass_read(self, data: bytes | memoryview, end: int) -> memoryview:
        """Let pass what was read of a Produce that ends at `end`, and return the rest, for another turn."""
        read_end = min(end, len(data)) - self._closed.unread_bytes
        self._forward(data, read_end)
        self._body_left, self._turn_bytes_left = end - read_end, 0
        return memoryview(data)[read_end:]

    def _walk(self, data: bytes | memoryview) -> tuple[int, int]:
        """Return where the frames that stream on end, and where the one to hold ends that begins there; 0 for none.

        The first number is beyond `data` when the last frame goes on. Raises PeerViolation, having let pass what
        came before it.
        """
        size = len(data)
        position, self._body_left = self._body_left, 0
        self._closed.begin_anew()
        try:
            while size - position >= REQUEST_HEAD_BYTES and self._turn_bytes_left > 0:
                length, api_key, api_version, correlation_id = unpack_request_head(data, position)
                if not MIN_REQUEST_BYTES <= length <= self._max_request_bytes:
                    refuse_request_length(data[position : position + 4], length, self._max_request_bytes)
                end = position + LENGTH_BYTES + length
                disposition = self._routes.disposition(api_key, api_version)
                if api_key in _CLOSABLE_KEYS or not (
                    disposition is _FORWARD or disposition is _REWRITE or disposition is _NEUTRALISE
                ):
                    held_end = self._held_end(disposition, data, position, end)
                    if held_end is not _STREAMS_ON:
                        return position, held_end
                    disposition = _FORWARD if disposition is _GUARD else disposition
                _refuse_unadvertised(self.advertised, api_key, api_version)
                owes = api_key != _PRODUCE or owes_response(data, position, end, api_version)
                if owes is UNDECIDED:
                    self._closed.begin_anew()
                    return position, 0
                if owes:
                    self._on_relayed(RequestHead(api_key, api_version, correlation_id), disposition)
                self._turn_bytes_left -= _BYTES_FOR_RELAYED
                self._begun_count += 1
                position = end
            self._refuse_early(data, position)
        except PeerViolation:
            self._forward(data, position)
            raise
        return position, 0

    def _held_end(self, disposition: Disposition, data: bytes | memoryview, position: int, end: int) -> int:
        """Return `end` to hold the frame that ends there, 0 to wait for more of it, or _STREAMS_ON."""
        _length, api_key, api_version, _correlation_id = unpack_request_head(data, position)
        if api_key not in GROUP_KEYS:
            if disposition not in _STREAMING or self._closed.must_hold(data, position, end):
                return end
            if self._closed.unread_bytes:
                self._turn_bytes_left = 0
            return _STREAMS_ON
        closed = self._routes.closed_topics.groups
        guarded = self._routes.share_group_ids if disposition is _GUARD else ()
        if not (closed or guarded):
            return _STREAMS_ON
        group_id = group_ids.group_id_of(memoryview(data)[:end], api_key, api_version, position)
        if group_id is group_ids.UNDECIDED:
            return 0 if end > len(data) else _STREAMS_ON
        return end if group_id in closed or group_id in guarded else _STREAMS_ON

    def _refuse_early(self, data: bytes | memoryview, position: int) -> None:
        """Name nonsense by its first four bytes: a TLS client waits for an answer before it sends twelve."""
        first = bytes(data[position : position + LENGTH_BYTES])
        if len(first) == LENGTH_BYTES and not self._closed.unread_bytes:
            refuse_request_length(first, int.from_bytes(first, "big", signed=True), self._max_request_bytes)

    def _forward(self, data: bytes | memoryview, end: int) -> None:
        if end == len(data):
            self.for_broker.append(data)
        elif end > 0:
            self.for_broker.append(memoryview(data)[:end])

    def _hold(self, data: bytes | memoryview, position: int, end: int) -> bytes | memoryview | None:
        view = memoryview(data)
        _length, api_key, api_version, _correlation_id = unpack_request_head(data, position)
        self._routes.refuse_unknown(api_key, api_version)
        self._refuse_large(data, position, end - position)
        if end > len(data):
            self.held.begin(view[position:], end - position)
            return None
        if self._must_wait(view[position:end]):
            return view[position:]
        self._hand_over(view[position:end])
        return view[end:] if end < len(data) else None

    def _refuse_large(self, data: bytes | memoryview, position: int, size: int) -> None:
        _length, api_key, api_version, _correlation_id = unpack_request_head(data, position)
        most = MAX_SASL_BYTES + LENGTH_BYTES if api_key in SASL_KEYS else MAX_HELD_BYTES
        if size > most:
            asked = f"a request of {counted(size, 'byte')} to API key {api_key} version {api_version}"
            raise PeerViolation("frame_too_large", f"{asked} is too large to be looked into; {most} are not")

    def _must_wait(self, frame: memoryview) -> bool:
        """Tell whether a whole request has to wait for another turn, a large one for a long one; this one ends then."""
        if self._is_fresh_long_turn:
            return False
        self.awaits_long_turn = is_large(frame)
        if self.awaits_long_turn or self._share.is_used_up:
            self._turn_bytes_left, self.waiting_frame_bytes = 0, len(frame)
            return True
        return False

    def _hand_over(self, frame: memoryview) -> None:
        _length, api_key, api_version, correlation_id = unpack_request_head(frame)
        # Share APIs come and go while connections stay.
        if api_key in SHARE_KEYS:
            self._routes.refuse_unknown(api_key, api_version)
        else:
            _refuse_unadvertised(self.advertised, api_key, api_version)
        head = RequestHead(api_key, api_version, correlation_id)
        self._turn_bytes_left -= len(frame)
        self._is_fresh_long_turn = False
        self._share.spend(work_of_frame(len(frame)))
        self._begun_count += 1
        self.is_barred = self._on_held(head, frame[LENGTH_BYTES:])


def _refuse_unadvertised(
    advertised: Mapping[int, tuple[int, int]] | None, api_key: int, api_version: int
) -> None:
    if advertised is None:
        return
    lowest, highest = advertised.get(api_key, (0, -1))
    # ApiVersions is answered whatever its version.
    if lowest <= api_version <= highest or api_key == ApiKey.API_VERSIONS:
        return
    if highest < 0:
        raise PeerViolation("unknown_api_key", f"API key {api_key} was not advertised on this connection")
    detail = f"version {api_version} of API key {api_key}; {lowest} to {highest} were advertised on this connection"
    raise PeerViolation("version_not_advertised", detail)
