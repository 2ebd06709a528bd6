"""Which partition of a topic belongs to a group, and which to a share-partition: both hash text as Java does.

kproxy places everything by the group alone: partition n of the groups topic has a group and its configurations, and
partition n of the state topic has the state of all its share-partitions. Kafka's own `__share_group_state` spreads
them, and so did format 1 of kproxy's log.

Source: `GroupCoordinatorService.partitionFor`, `ShareCoordinatorService.partitionFor`.
"""

import struct
from functools import lru_cache
from typing import Final

from kproxy.share.identifiers import GroupId, SharePartitionKey
from kproxy.statelog.short_keys import LONGEST_REMEMBERED, remember_by_digest

_SIGN_BIT: Final = 1 << 31

_LONG_IDS_AT_WORK: Final = 16
"""Long group ids that are kept with their hashes: some 32 kB each. A request may name thousands of share-partitions
of one group."""

_LONG_IDS: Final = 1 << 15
"""Long group ids whose hashes are kept without them: some 10 MB. To hash the longest takes two milliseconds, and who
goes through all groups, or all locks that end, comes by hundreds of them in one turn of the event loop."""

_SHORT_IDS: Final = 1 << 15
"""Others whose hashes are kept: some 20 MB if each has 256 characters, which takes 24 us to hash."""


def group_partition(group_id: GroupId, partition_count: int) -> int:
    """Return the partition that belongs to a group: of both state topics, and of Kafka's `__consumer_offsets`."""
    is_long = len(group_id) > LONGEST_REMEMBERED
    return _magnitude(_hash_of_long(group_id) if is_long else _hash_of_short(group_id)) % partition_count


def spread_partition(key: SharePartitionKey, partition_count: int) -> int:
    """Return the partition of Kafka's own `__share_group_state` that holds the state of `key`."""
    return _magnitude(_hash(str(key))) % partition_count


@lru_cache(maxsize=_LONG_IDS_AT_WORK)
@remember_by_digest(maxsize=_LONG_IDS)
def _hash_of_long(group_id: str) -> int:
    return _hash(group_id)


@lru_cache(maxsize=_SHORT_IDS)
def _hash_of_short(group_id: str) -> int:
    return _hash(group_id)


def _hash(text: str) -> int:
    """Return Java's `String.hashCode`, unsigned."""
    hashed = 0
    for (unit,) in struct.iter_unpack(">H", text.encode("utf-16-be", "surrogatepass")):
        hashed = (31 * hashed + unit) & 0xFFFFFFFF
    return hashed


def _magnitude(hashed: int) -> int:
    """Return the magnitude of a hash, which Java takes for signed; 0 for the one number whose magnitude Java lacks."""
    if hashed < _SIGN_BIT:
        return hashed
    return 0 if hashed == _SIGN_BIT else (1 << 32) - hashed
