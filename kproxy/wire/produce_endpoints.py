"""Whether a Produce response may name brokers, told without decoding it.

KIP-951 put the addresses of new leaders into the responses of version 10 and above, as tagged field 0 behind everything
else. Nearly no response has them, and decoding and encoding each for nothing costs more than all else that is done for
a Produce. So the response is walked over, field by field, up to the count of those tags.
"""

from typing import Final

from kproxy.errors import MalformedMessage
from kproxy.wire.varints import decode_varint

_FIRST_WITH_TOPIC_IDS: Final = 13
_UUID_BYTES: Final = 16
_CORRELATION_ID_BYTES: Final = 4
_BEFORE_RECORD_ERRORS: Final = 4 + 2 + 8 + 8 + 8
"""Of a partition: index, error code, base offset, log append time, log start offset."""
_BATCH_INDEX_BYTES: Final = 4
_THROTTLE_TIME_BYTES: Final = 4


def may_name_brokers(frame: bytes | memoryview, api_version: int) -> bool:
    """Return False when `frame`, a Produce response without its length, version 10 or above, certainly names none.

    True for what cannot be walked over, too: who decodes it learns what is wrong with it.
    """
    data = bytes(frame)
    try:
        position = _after_topics(data, api_version) + _THROTTLE_TIME_BYTES
        return data[position] != 0 or position + 1 != len(data)
    except (IndexError, MalformedMessage):
        return True


def _after_topics(data: bytes, api_version: int) -> int:
    count, position = _count(data, _after_tags(data, _CORRELATION_ID_BYTES))
    for _ in range(count):
        if api_version >= _FIRST_WITH_TOPIC_IDS:
            position += _UUID_BYTES
        else:
            position = _after_string(data, position)
        position = _after_partitions(data, position)
    return position


def _after_partitions(data: bytes, position: int) -> int:
    count, position = _count(data, position)
    for _ in range(count):
        errors, position = _count(data, position + _BEFORE_RECORD_ERRORS)
        for _ in range(errors):
            position = _after_tags(data, _after_string(data, position + _BATCH_INDEX_BYTES))
        position = _after_tags(data, _after_string(data, position))
    return _after_tags(data, position)


def _after_tags(data: bytes, position: int) -> int:
    if data[position] == 0:
        return position + 1
    count, position = decode_varint(data, position)
    for _ in range(count):
        _tag, position = decode_varint(data, position)
        size, position = decode_varint(data, position)
        position += size
    return position


def _after_string(data: bytes, position: int) -> int:
    if data[position] < 0x80:
        # One byte says one more than the length, and 0 is null.
        return position + (data[position] or 1)
    length, position = _count(data, position)
    return position + length


def _count(data: bytes, position: int) -> tuple[int, int]:
    """Read a compact length: one more than it stands for, and 0 for null; and where it ends."""
    if data[position] < 0x80:
        return max(data[position] - 1, 0), position + 1
    number, position = decode_varint(data, position)
    return max(number - 1, 0), position
