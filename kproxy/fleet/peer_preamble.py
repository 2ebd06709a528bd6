"""The bytes that two processes exchange before a connection between them serves its purpose, and proofs of a secret.

Who dials begins with `MAGIC`, then both send frames: a length of four bytes (big-endian, itself not counted), one byte
that says what it is, and a message as `data_format` has it. Behind the Welcome the purpose decides what follows.

```
 dials                          listens
   MAGIC Hello ──────────────────▶
   ◀────────────────────────────── Challenge   with a secret only
   Proof ────────────────────────▶
   ◀────────────────────────────── Welcome, or at any point Refusal, and the end
```
"""

import hmac
from enum import IntEnum
from typing import Final, TypeVar

from kproxy.errors import PeerRefused, UnreadableFleetData
from kproxy.fleet.data_format import decode_data, encode_data, require_between, require_text
from kproxy.fleet.peer_hello import Hello
from kproxy.wire.codecs import Message
from kproxy.wire.frames import name_foreign_protocol
from kproxy.wire.messages.peer_challenge import PeerChallenge
from kproxy.wire.messages.peer_refusal import PeerRefusal

MAGIC: Final = b"kproxy\x00\x01"
"""The last two bytes are the version of what follows. Read as the length of a Kafka frame it is 1.8 GB."""

MOST_FRAME_BYTES: Final = 8 * 1024
"""No frame of a preamble is larger, its length not counted: nine texts of 255 characters of four bytes at most."""

PROOF_BYTES: Final = 32

_LENGTH_BYTES: Final = 4
_FOREIGN_BYTES: Final = 4
_FOREIGN: Final = {
    "tls_on_plaintext": "began a TLS handshake",
    "http_on_kafka_port": "speaks HTTP, which the admin port does",
    "proxy_header": "sent a PROXY protocol header",
}

M = TypeVar("M", bound=Message)


class Kind(IntEnum):
    """What a frame is."""

    HELLO = 1
    CHALLENGE = 2
    PROOF = 3
    WELCOME = 4
    REFUSAL = 5


class Direction(bytes):
    """Who proves, so that no proof can be sent back to whom it came from."""


BY_LISTENER: Final = Direction(b"kproxy: the process that listens")
BY_DIALLER: Final = Direction(b"kproxy: the process that dials")


def frame_of(kind: Kind, message: Message) -> bytes:
    """Return the frame of `message`."""
    body = encode_data(message)
    return (len(body) + 1).to_bytes(_LENGTH_BYTES, "big") + bytes([kind]) + body


def refusal_frame(refusal: PeerRefused) -> bytes:
    """Return the frame that tells of `refusal`, cut where that is too long."""
    return frame_of(Kind.REFUSAL, PeerRefusal(refusal.reason[:64], refusal.detail[:1000]))


def read_message(body: bytes, message_class: type[M]) -> M:
    """Return the message in the body of a frame. Raises PeerRefused."""
    try:
        return decode_data(body, message_class)
    except UnreadableFleetData as error:
        raise PeerRefused("malformed", f"what it says cannot be read: {error}") from error


def refusal_in(body: bytes, who: str) -> PeerRefused:
    """Return what a refusal says. Raises PeerRefused when it says nothing that can be."""
    refusal = read_message(body, PeerRefusal)
    try:
        reason = require_text(refusal.reason, "reason")
    except UnreadableFleetData as error:
        raise PeerRefused("malformed", f"what it says cannot be read: {error}") from error
    return PeerRefused(reason, f"{who} refuses: {refusal.detail}")


def proof_of(secret: bytes, direction: Direction, hello: Hello, challenge: PeerChallenge) -> bytes:
    """Return the proof that whoever made it knows `secret`: HMAC-SHA256 of all that was said, but for proofs."""
    asked = PeerChallenge(challenge.token, challenge.name, challenge.nonce)
    mac = hmac.new(secret, digestmod="sha256")
    for part in (bytes(direction), encode_data(hello.message()), encode_data(asked)):
        mac.update(len(part).to_bytes(_LENGTH_BYTES, "big"))
        mac.update(part)
    return mac.digest()


def is_proof(proof: bytes, expected: bytes) -> bool:
    """Compare two proofs in a time that does not tell how much of them is equal."""
    return hmac.compare_digest(proof, expected)


class FrameReader:
    """Cuts what came into frames. With `expects_magic` that comes first."""

    __slots__ = ("_came", "_expects_magic")

    def __init__(self, *, expects_magic: bool) -> None:
        self._came = bytearray()
        self._expects_magic = expects_magic

    def receive(self, data: bytes) -> None:
        """Take what came."""
        self._came += data

    def take_frame(self) -> tuple[int, bytes] | None:
        """Return kind and body of the next frame that is whole, once; None when there is none. Raises PeerRefused."""
        if self._expects_magic and not self._take_magic():
            return None
        if len(self._came) < _LENGTH_BYTES:
            return None
        length = int.from_bytes(self._came[:_LENGTH_BYTES], "big", signed=True)
        _require_length(length)
        end = _LENGTH_BYTES + length
        if len(self._came) < end:
            return None
        kind, body = self._came[_LENGTH_BYTES], bytes(self._came[_LENGTH_BYTES + 1 : end])
        del self._came[:end]
        return kind, body

    def take_rest(self) -> bytes:
        """Return what came behind the last frame, once."""
        rest = bytes(self._came)
        self._came.clear()
        return rest

    def _take_magic(self) -> bool:
        begun = bytes(self._came[: len(MAGIC)])
        if not MAGIC.startswith(begun):
            raise _foreign(begun)
        if len(begun) < len(MAGIC):
            return False
        del self._came[: len(MAGIC)]
        self._expects_magic = False
        return True


def _require_length(length: int) -> None:
    try:
        require_between(length, "length", first=1, last=MOST_FRAME_BYTES)
    except UnreadableFleetData as error:
        raise PeerRefused("malformed", f"what it says cannot be read: {error}") from error


def _foreign(begun: bytes) -> PeerRefused:
    name_end = len(MAGIC) - 2
    if begun[:name_end] == MAGIC[:name_end]:
        version = int.from_bytes(begun[name_end:], "big")
        return PeerRefused("protocol", f"it speaks version {version} between processes, this one version 1")
    known = name_foreign_protocol(begun[:_FOREIGN_BYTES]) if len(begun) >= _FOREIGN_BYTES else None
    what = _FOREIGN[known[0]] if known is not None else "sent something else"
    if begun[0] == 0:
        what = "sent what Kafka's clients send, whose port is that of kproxy.listen"
    return PeerRefused("no_kproxy", f"it {what}; this port is for other kproxy processes")
