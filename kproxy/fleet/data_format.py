"""What members tell each other in the bytes of the group protocol: two bytes of version, then the message.

Kafka's own protocols are laid out so (`ConsumerProtocol`). A change that an elder kproxy could not read takes another
protocol name, so that the coordinator itself turns away who has none in common with the others.
"""

import struct
from typing import Final, TypeVar

from kproxy.errors import MalformedMessage, UnreadableFleetData
from kproxy.wire.codecs import Message, decode, encode
from kproxy.wording import counted

DATA_VERSION: Final = 0
"""The only version there is of either message."""

MOST_BYTES: Final = 1 << 20
"""No message is larger. Brokers keep them in memory, and write them into one record of `__consumer_offsets`."""

MOST_SLOTS: Final = 10_000
MOST_MEMBERS: Final = 1_000
MOST_CHARACTERS: Final = 255
"""Of a name, a host, a token or a reason."""

M = TypeVar("M", bound=Message)

_VERSION: Final = struct.Struct(">h")


def encode_data(message: Message) -> bytes:
    """Return the bytes of `message`."""
    return b"".join((_VERSION.pack(DATA_VERSION), *encode(message, DATA_VERSION)))


def decode_data(data: bytes, message_class: type[M]) -> M:
    """Return the message in `data`. Raises UnreadableFleetData."""
    if not _VERSION.size <= len(data) <= MOST_BYTES:
        raise UnreadableFleetData(
            f"{counted(len(data), 'byte')}, expected {_VERSION.size} to {MOST_BYTES} bytes"
        )
    (version,) = _VERSION.unpack_from(data)
    if version != DATA_VERSION:
        raise UnreadableFleetData(f"version {version}, this kproxy reads version {DATA_VERSION}")
    try:
        return decode(message_class, DATA_VERSION, memoryview(data)[_VERSION.size :])
    except MalformedMessage as error:
        raise UnreadableFleetData(str(error)) from error


def require_text(text: str, what: str) -> str:
    """Return `text` if it is there and not too long. Raises UnreadableFleetData."""
    if not 0 < len(text) <= MOST_CHARACTERS:
        raise UnreadableFleetData(
            f"{what} of {counted(len(text), 'character')}, expected 1 to {MOST_CHARACTERS}"
        )
    return text


def require_between(number: int, what: str, *, first: int, last: int) -> int:
    """Return `number` if it lies from `first` to `last`, both inclusive. Raises UnreadableFleetData."""
    if not first <= number <= last:
        raise UnreadableFleetData(f"{what} {number}, expected {first} to {last}")
    return number
