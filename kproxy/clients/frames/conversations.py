"""The requests and responses of captured connections: responses are known by the requests that they answer."""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kproxy.clients.frames.captured_packets import Segment
from kproxy.clients.frames.described_frames import (
    CapturedAt,
    DescribedFrame,
    described_request,
    described_response,
)
from kproxy.clients.frames.tcp_streams import TcpStream
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.frames import name_foreign_protocol
from kproxy.wording import counted

MOST_UNANSWERED: Final = 10_000
"""Requests of one connection whose responses are waited for; the oldest go first. Produce with acks=0 gets none."""
MOST_CONNECTIONS: Final = 10_000
LARGEST_FRAME_BYTES: Final = 100 * 2**20
"""`socket.request.max.bytes` as brokers have it."""

_LENGTH: Final = struct.Struct(">i")
_REQUEST_HEAD: Final = struct.Struct(">ihhih")
_RESPONSE_HEAD: Final = struct.Struct(">ii")
_LARGEST_VERSION: Final = 30
_KEYS: Final = frozenset(map(int, ApiKey))


@dataclass(frozen=True, slots=True)
class Unread:
    """Bytes of a connection that no frame could be made of, and why."""

    connection: str
    at_ms: int
    problem: str


def conversations_in(
    segments: Iterable[Segment], *, ports: frozenset[int] = frozenset()
) -> Iterator[DescribedFrame | Unread]:
    """Yield the frames of all connections in the order in which their last bytes were captured.

    Brokers are where `ports` says. Without any, whoever opened a connection is its client, and where the capture
    begins later, whoever sends what looks like a request. Other connections yield nothing.
    """
    connections: dict[frozenset[str], _Connection] = {}
    for segment in segments:
        ends = frozenset((segment.source, segment.target))
        if segment.is_from_client or ends not in connections:
            if len(connections) >= MOST_CONNECTIONS:
                del connections[next(iter(connections))]
            connections[ends] = _Connection(_client_of(segment, ports))
        yield from connections[ends].take(segment)


def _client_of(segment: Segment, ports: frozenset[int]) -> str | None:
    if segment.is_from_client:
        return segment.source
    for one, other in ((segment.source, segment.target), (segment.target, segment.source)):
        if _port(other) in ports and _port(one) not in ports:
            return one
    return None


def _port(end: str) -> int:
    return int(end.rpartition(":")[2])


class _Connection:
    def __init__(self, client: str | None) -> None:
        self._client = client
        self._sides: dict[str, _Side] = {}
        self._unanswered: dict[int, tuple[int, int]] = {}

    def take(self, segment: Segment) -> Iterator[DescribedFrame | Unread]:
        side = self._sides.setdefault(segment.source, _Side())
        place = CapturedAt(f"{segment.source} > {segment.target}", segment.at_ms)
        for part in side.stream.take(segment):
            if isinstance(part, int):
                yield Unread(
                    str(place.connection), segment.at_ms, f"the capture lacks {counted(part, 'byte')}"
                )
                side.lose()
                continue
            side.unread += part
            yield from self._frames(side, segment, place)

    def _frames(
        self, side: "_Side", segment: Segment, place: CapturedAt
    ) -> Iterator[DescribedFrame | Unread]:
        if side.is_foreign or (self._client is None and not self._finds_client(side, segment)):
            return
        is_request = segment.source == self._client
        head_bytes = (_REQUEST_HEAD if is_request else _RESPONSE_HEAD).size
        while len(side.unread) >= _LENGTH.size:
            if (foreign := name_foreign_protocol(bytes(side.unread[:4]))) is not None:
                side.is_foreign = True
                side.unread.clear()
                yield Unread(str(place.connection), segment.at_ms, foreign[1])
                return
            if len(side.unread) < head_bytes:
                return
            if not (_may_be_request(side.unread) if is_request else self._may_answer(side)):
                yield from _stray(side, place)
                return
            (length,) = _LENGTH.unpack_from(side.unread)
            if len(side.unread) < _LENGTH.size + length:
                return
            frame = bytes(side.unread[_LENGTH.size : _LENGTH.size + length])
            del side.unread[: _LENGTH.size + length]
            side.is_lost = False
            yield self._request(frame, place) if is_request else self._response(frame, place)

    def _finds_client(self, side: "_Side", segment: Segment) -> bool:
        """Tell whether this end is the client: by a whole request, for a response may well begin like one."""
        if not _may_be_request(side.unread):
            side.unread.clear()
            return False
        (length,) = _LENGTH.unpack_from(side.unread)
        if len(side.unread) < _LENGTH.size + length:
            return False
        if described_request(bytes(side.unread[_LENGTH.size : _LENGTH.size + length])).fields is None:
            side.unread.clear()
            return False
        self._client = segment.source
        return True

    def _may_answer(self, side: "_Side") -> bool:
        length, correlation_id = _RESPONSE_HEAD.unpack_from(side.unread)
        return 4 <= length <= LARGEST_FRAME_BYTES and correlation_id in self._unanswered

    def _request(self, frame: bytes, place: CapturedAt) -> DescribedFrame:
        described = described_request(frame, place)
        self._unanswered[described.correlation_id] = (described.api_key, described.version)
        if len(self._unanswered) > MOST_UNANSWERED:
            del self._unanswered[next(iter(self._unanswered))]
        return described

    def _response(self, frame: bytes, place: CapturedAt) -> DescribedFrame:
        (correlation_id,) = _LENGTH.unpack_from(frame)
        return described_response(frame, *self._unanswered.pop(correlation_id), place)


class _Side:
    """What one end sent, and what of it is no whole frame yet."""

    def __init__(self) -> None:
        self.stream = TcpStream()
        self.unread = bytearray()
        self.is_foreign = False
        self.is_lost = False
        """Somewhere within a frame: what comes is read again where a packet begins like one."""

    def lose(self) -> None:
        self.unread.clear()
        self.is_lost = True


def _stray(side: _Side, place: CapturedAt) -> Iterator[Unread]:
    """Drop bytes that begin no frame; they are told of once until a frame is found again."""
    if not side.is_lost:
        yield Unread(
            str(place.connection), place.at_ms or 0, "bytes that begin no frame: passed over until one does"
        )
    side.lose()


def _may_be_request(unread: bytearray) -> bool:
    if len(unread) < _REQUEST_HEAD.size:
        return False
    length, api_key, version, _, client_id_length = _REQUEST_HEAD.unpack_from(unread)
    return (
        8 <= length <= LARGEST_FRAME_BYTES
        and api_key in _KEYS
        and 0 <= version <= _LARGEST_VERSION
        and -1 <= client_id_length <= length
    )
