"""What a frame says: of which API it is, who sent it, and its fields. A frame is given without its length."""

import struct
from dataclasses import dataclass, field
from typing import Any, Final

from kproxy.clients.failures import ClientFailed
from kproxy.clients.frames.message_fields import fields_of
from kproxy.errors import ExitCode, MalformedMessage
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import decode_request, decode_response
from kproxy.wire.messages.by_api_key import REQUEST_CLASSES, RESPONSE_CLASSES
from kproxy.wording import counted

_REQUEST_HEAD: Final = struct.Struct(">hhih")
_RESPONSE_HEAD: Final = struct.Struct(">i")


class NoFrame(ClientFailed):
    """Bytes that cannot be what they were said to be. The text says why, and what else to try."""

    exit_code = ExitCode.USAGE


@dataclass(frozen=True, slots=True)
class DescribedFrame:
    """A request or a response. `fields` is None when its body cannot be read, and `problem` says why.

    `connection` is where a capture has it, such as `10.0.0.7:50112 > 10.0.0.9:9092`.
    """

    kind: str
    api_key: int
    version: int
    correlation_id: int
    size_bytes: int
    """With the four bytes of the length."""
    client_id: str | None = None
    fields: dict[str, Any] | None = None
    problem: str | None = None
    connection: str | None = None
    at_ms: int | None = None
    """When it was captured, in epoch milliseconds."""

    @property
    def api_name(self) -> str:
        """The API's name in Kafka's documents, or its number where it has none."""
        return api_name(self.api_key)


@dataclass(frozen=True, slots=True)
class CapturedAt:
    """Where and when a frame was captured; neither is known of a frame that was given alone."""

    connection: str | None = None
    at_ms: int | None = None


NOWHERE: Final = CapturedAt()


def api_name(api_key: int) -> str:
    """Return the name of an API, such as `ShareFetch`, or `API 200`."""
    try:
        return ApiKey(api_key).kafka_name
    except ValueError:
        return f"API {api_key}"


def api_key_named(name: str) -> int:
    """Return the key of the API with this name, in any case, or of this number. Raises NoFrame with near names."""
    names = {key.kafka_name.lower(): key.value for key in ApiKey}
    if name.isdigit():
        return int(name)
    if (found := names.get(name.lower().replace("_", ""))) is not None:
        return found
    raise NoFrame(f"no API is called {name!r}: its name is like ShareFetch, or its number")


def described_request(frame: bytes | memoryview, place: CapturedAt = NOWHERE) -> DescribedFrame:
    """Return what a request says. Raises NoFrame when not even its header can be read."""
    api_key, version, correlation_id, client_id = _request_head(frame)
    shown = _Head("request", api_key, version, correlation_id, client_id)
    try:
        return shown.with_fields(frame, place, fields_of(decode_request(frame).message, version))
    except MalformedMessage as error:
        return shown.with_problem(frame, place, _why(error, api_key in REQUEST_CLASSES, api_key))


def described_response(
    frame: bytes | memoryview, api_key: int, version: int, place: CapturedAt = NOWHERE
) -> DescribedFrame:
    """Return what the response to a request of this API and version says. Raises NoFrame as above."""
    if len(frame) < _RESPONSE_HEAD.size:
        raise NoFrame(
            f"no response has {counted(len(frame), 'byte')}: it begins with four bytes of correlation id"
        )
    (correlation_id,) = _RESPONSE_HEAD.unpack_from(frame)
    shown = _Head("response", api_key, version, correlation_id)
    try:
        _, message = decode_response(api_key, version, frame)
        return shown.with_fields(frame, place, fields_of(message, version))
    except MalformedMessage as error:
        return shown.with_problem(frame, place, _why(error, api_key in RESPONSE_CLASSES, api_key))


@dataclass(frozen=True, slots=True)
class _Head:
    kind: str
    api_key: int
    version: int
    correlation_id: int
    client_id: str | None = field(default=None)

    def with_fields(
        self, frame: bytes | memoryview, place: CapturedAt, fields: dict[str, Any]
    ) -> DescribedFrame:
        return self._described(frame, place, fields, None)

    def with_problem(self, frame: bytes | memoryview, place: CapturedAt, problem: str) -> DescribedFrame:
        return self._described(frame, place, None, problem)

    def _described(
        self, frame: bytes | memoryview, place: CapturedAt, fields: dict[str, Any] | None, problem: str | None
    ) -> DescribedFrame:
        return DescribedFrame(
            self.kind,
            self.api_key,
            self.version,
            self.correlation_id,
            len(frame) + 4,
            self.client_id,
            fields,
            problem,
            place.connection,
            place.at_ms,
        )


def _request_head(frame: bytes | memoryview) -> tuple[int, int, int, str | None]:
    if len(frame) < _REQUEST_HEAD.size:
        raise NoFrame(
            f"no request has {counted(len(frame), 'byte')}: its header has at least {_REQUEST_HEAD.size}"
        )
    api_key, version, correlation_id, length = _REQUEST_HEAD.unpack_from(frame)
    if length < 0:
        return api_key, version, correlation_id, None
    text = bytes(frame[_REQUEST_HEAD.size : _REQUEST_HEAD.size + length])
    if len(text) < length:
        raise NoFrame(f"no request: its client id has {counted(length, 'byte')}, and {len(text)} follow")
    return api_key, version, correlation_id, text.decode("utf-8", "replace")


def _why(error: MalformedMessage, has_schema: bool, api_key: int) -> str:  # noqa: FBT001 - one caller for each value
    return str(error) if has_schema else f"kproxy passes {api_name(api_key)} on without reading it: no schema"
