"""`PreparedRequest`: a request that is sent again and again, encoded once."""

import struct
from dataclasses import dataclass
from typing import Final, Self

from kproxy.wire import codecs
from kproxy.wire.codecs import Message

_CORRELATION_ID: Final = struct.Struct(">i")
_CORRELATION_ID_AT: Final = 8
"""In a frame: behind the length, the API key and the version."""


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """All of a request's frame but the correlation id."""

    api_key: int
    version: int
    before: bytes
    behind: bytes

    @classmethod
    def of(cls, api_key: int, version: int, client_id: str, message: Message) -> Self:
        """Encode `message`. Raises UnencodableMessage."""
        frame = b"".join(codecs.encode_request(api_key, version, 0, client_id, message))
        behind_at = _CORRELATION_ID_AT + _CORRELATION_ID.size
        return cls(api_key, version, frame[:_CORRELATION_ID_AT], frame[behind_at:])

    def chunks(self, correlation_id: int) -> list[bytes]:
        """Return the frame under `correlation_id`, to be sent one chunk after the other."""
        return [self.before + _CORRELATION_ID.pack(correlation_id), self.behind]
