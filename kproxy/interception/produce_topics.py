"""Which topics a Produce request names: told of a whole one, and while its bytes pass, in whatever pieces.

Between two names lie records, which are stepped over by their length and never looked at.
Layout: header; transactional id from version 3 on; acks, timeout; topics, each with its name, from version 13 on its id
instead, and partitions of an index and records. Flexible from version 9 on.

A producer names nothing without records to write. To read a name costs some microseconds, so of a request that has
very much without records the rest is searched for the wanted bytes, wherever they stand: that costs next to nothing.
Others may name as much behind each other as they like, with a small batch each, and whoever feeds says how far to go.
"""

import struct
import sys
from collections.abc import Callable, Collection
from typing import Final

from kproxy.wire.request_prefixes import after_compact_string, after_header, after_string, after_varint

MOST_IDLE: Final = 64
"""Topics without partitions, partitions without records, and tags, of which the names of a request are read at all."""

_FIRST_WITH_TRANSACTIONAL_ID: Final = 3
_FIRST_FLEXIBLE: Final = 9
_FIRST_WITH_TOPIC_IDS: Final = 13
_LONGEST_NAME: Final = 249
"""No topic has a longer one."""

_FIRST_WITH_BATCHES: Final = 3
_SMALLEST_BATCH: Final = 61
"""Bytes of a batch without any record."""
_SMALLEST_MESSAGE: Final = 26
"""Bytes of what was there before batches: offset, size, checksum, two bytes, and the lengths of key and value."""

_ACKS_AND_TIMEOUT_BYTES: Final = 6
_INDEX_BYTES: Final = 4
_TOPIC_ID_BYTES: Final = 16
_NEVER: Final = 1 << 62

_unpack_int16 = struct.Struct(">h").unpack_from
_unpack_int32 = struct.Struct(">i").unpack_from

_Step = Callable[["ProduceTopics", memoryview, int], int]
"""Takes what stands at a position and returns where the next step begins, perhaps behind all that has come.

Raises IndexError or struct.error, and has changed nothing then, when more bytes are needed.
"""


class ProduceTopics:
    """Looks for topics whose names, or ids, are among `wanted`; begins with the length of the frame."""

    __slots__ = (
        "_behind_tags",
        "_came",
        "_has_ids",
        "_has_transactional_id",
        "_idle_left",
        "_is_flexible",
        "_partitions_left",
        "_skip",
        "_smallest_records",
        "_step",
        "_tags_left",
        "_topics_left",
        "_wanted",
        "has_found",
        "step_count",
        "unread_bytes",
    )

    def __init__(self, api_version: int, wanted: Collection[bytes]) -> None:
        self.has_found = False
        """Whether one of them was named, or stands in a request of which the names are not read."""
        self.step_count = 0
        """How many fields the last `feed` read: up to a microsecond each."""
        self.unread_bytes = 0
        """How many bytes at the end of what was fed last are to be fed again, for another few steps."""
        self._is_flexible = api_version >= _FIRST_FLEXIBLE
        self._has_ids = api_version >= _FIRST_WITH_TOPIC_IDS
        self._has_transactional_id = api_version >= _FIRST_WITH_TRANSACTIONAL_ID
        self._smallest_records = _SMALLEST_BATCH if api_version >= _FIRST_WITH_BATCHES else _SMALLEST_MESSAGE
        self._wanted = wanted
        self._came = b""
        self._skip = 0
        # Functions and not methods of this object, which would then be kept by itself.
        self._step: _Step = ProduceTopics._header
        self._behind_tags: _Step = ProduceTopics._transactional_id
        self._topics_left = self._partitions_left = self._tags_left = 0
        self._idle_left = MOST_IDLE

    def passes(self, size: int) -> bool:
        """Tell whether nothing is named in the next `size` bytes; if so, they count as fed."""
        if size > self._skip:
            return False
        self._skip -= size
        return True

    def feed(self, data: bytes | memoryview, most_steps: int = sys.maxsize) -> bool:
        """Take the next bytes of the frame, and tell whether one of the topics was named by now.

        Behind `most_steps`, which is at least one, bytes may be left: see `unread_bytes`.

        Raises:
            PeerViolation: there is a number in it that no client sends.
        """
        self.step_count = self.unread_bytes = 0
        size = len(data)
        if self.has_found or size <= self._skip:
            self._skip -= min(size, self._skip)
            return self.has_found
        view = memoryview(data)[self._skip :] if self._skip else memoryview(data)
        if self._came:
            view = memoryview(self._came + view)
        position = self._walk(view, most_steps) if self._idle_left >= 0 else 0
        if self._idle_left < 0 and not self.has_found:
            position = self._search(view, position)
        self._skip = max(position - len(view), 0)
        self._came = b"" if self.unread_bytes else bytes(view[position:])
        return self.has_found

    def _walk(self, view: memoryview, most_steps: int) -> int:
        """Return where the first step begins that has not come whole, or is one too many."""
        position, size, index = 0, len(view), 0
        try:
            for index in range(most_steps):  # noqa: B007 - a counter of its own takes longer
                position = self._step(self, view, position)
                if position >= size or self._idle_left < 0 or self.has_found:
                    break
            else:
                # A step ends behind what had come before of it: all of this was fed last.
                self.unread_bytes = size - position
        except (IndexError, struct.error):
            pass
        self.step_count = index + 1
        return position

    # ---- before the topics

    def _header(self, view: memoryview, position: int) -> int:
        position = after_header(view[position:] if position else view, is_flexible=False)
        self._go_on_behind_tags(ProduceTopics._transactional_id)
        return position

    def _transactional_id(self, view: memoryview, position: int) -> int:
        if self._is_flexible:
            position = after_compact_string(view, position)
        elif self._has_transactional_id:
            position = after_string(view, position)
        self._step = ProduceTopics._topics
        return position + _ACKS_AND_TIMEOUT_BYTES

    def _topics(self, view: memoryview, position: int) -> int:
        self._topics_left, position = self._count(view, position)
        self._step = ProduceTopics._topic
        return position

    # ---- topics

    def _topic(self, view: memoryview, position: int) -> int:
        if self._topics_left <= 0:
            return _NEVER
        length, begin = self._name_length(view, position)
        if length > _LONGEST_NAME:
            self._step = ProduceTopics._partitions
            return begin + length
        name = bytes(view[begin : begin + length])
        end = self._partitions(view, begin + length)
        self.has_found = name in self._wanted
        return end

    def _name_length(self, view: memoryview, position: int) -> tuple[int, int]:
        if self._has_ids:
            return _TOPIC_ID_BYTES, position
        if self._is_flexible:
            length_and_one, position = after_varint(view, position)
            return max(length_and_one - 1, 0), position
        (length,) = _unpack_int16(view, position)
        return max(length, 0), position + 2

    def _partitions(self, view: memoryview, position: int) -> int:
        count, position = self._count(view, position)
        self._partitions_left = count
        self._topics_left -= 1
        if count > 0:
            self._step = ProduceTopics._partition
        else:
            self._go_on_behind_tags(ProduceTopics._topic)
            self._idle_left -= 1
        return position

    def _partition(self, view: memoryview, position: int) -> int:
        if self._is_flexible:
            count_and_one, position = after_varint(view, position + _INDEX_BYTES)
            records = count_and_one - 1
            has_more = self._partitions_left > 1
            self._step = ProduceTopics._tags
            self._behind_tags = ProduceTopics._partition if has_more else ProduceTopics._end_of_topic
        else:
            (records,) = _unpack_int32(view, position + _INDEX_BYTES)
            position += _INDEX_BYTES + 4
            if self._partitions_left <= 1:
                self._step = ProduceTopics._topic
        self._partitions_left -= 1
        if records < self._smallest_records:
            self._idle_left -= 1
            return position + max(records, 0)
        return position + records

    def _end_of_topic(self, _view: memoryview, position: int) -> int:
        self._go_on_behind_tags(ProduceTopics._topic)
        return position

    def _count(self, view: memoryview, position: int) -> tuple[int, int]:
        """Return a count of elements, or of the bytes of records, and what follows."""
        if self._is_flexible:
            count_and_one, position = after_varint(view, position)
            return count_and_one - 1, position
        (count,) = _unpack_int32(view, position)
        return count, position + 4

    # ---- tags

    def _go_on_behind_tags(self, step: _Step) -> None:
        self._step = ProduceTopics._tags if self._is_flexible else step
        self._behind_tags = step

    def _tags(self, view: memoryview, position: int) -> int:
        count, position = after_varint(view, position)
        self._tags_left = count
        self._step = ProduceTopics._tag if count else self._behind_tags
        return position

    def _tag(self, view: memoryview, position: int) -> int:
        _tag, position = after_varint(view, position)
        size, position = after_varint(view, position)
        self._tags_left -= 1
        if not self._tags_left:
            self._step = self._behind_tags
        self._idle_left -= 1
        return position + size

    # ---- what no producer sends

    def _search(self, view: memoryview, position: int) -> int:
        """Look for the wanted bytes wherever they stand; return where they may begin, of which not all has come."""
        content = bytes(view[position:])
        self.has_found = any(wanted in content for wanted in self._wanted)
        return max(position, len(view) - max(map(len, self._wanted), default=1) + 1)
