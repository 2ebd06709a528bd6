"""Which partition of the state topics a share-partition or a group belongs to.

Source: `ShareCoordinatorService.partitionFor`, `GroupCoordinatorService.partitionFor`: both hash text as Java does.
"""

import struct
from typing import Final

from kproxy.share.identifiers import GroupId, SharePartitionKey
from kproxy.statelog.short_keys import remember_short_keys, remember_short_texts

_SIGN_BIT: Final = 1 << 31


@remember_short_keys(maxsize=1 << 17)
def state_partition(key: SharePartitionKey, partition_count: int) -> int:
    """Return the partition of the state topic that holds the state of `key`."""
    return _absolute_hash(str(key)) % partition_count


@remember_short_texts(maxsize=1 << 14)
def group_partition(group_id: GroupId, partition_count: int) -> int:
    """Return the partition of the groups topic that holds the records of a group."""
    return _absolute_hash(group_id) % partition_count


def _absolute_hash(text: str) -> int:
    """Return the magnitude of Java's `String.hashCode`; 0 for the one number whose magnitude Java lacks."""
    encoded = text.encode("utf-16-be", "surrogatepass")
    hashed = 0
    for (unit,) in struct.iter_unpack(">H", encoded):
        hashed = (31 * hashed + unit) & 0xFFFFFFFF
    if hashed < _SIGN_BIT:
        return hashed
    return 0 if hashed == _SIGN_BIT else (1 << 32) - hashed
