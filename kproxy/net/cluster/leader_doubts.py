"""What brokers say of a partition when something is wrong, and what clients are told instead."""

from collections.abc import Mapping
from typing import Final

from kproxy.error_codes import ErrorCode

LEADER_DOUBTS: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)
"""Answers after which it is worth asking the cluster who leads the partition now, and trying once more."""

_TOLD_INSTEAD: Final[Mapping[ErrorCode, ErrorCode]] = {
    ErrorCode.INCONSISTENT_TOPIC_ID: ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.LEADER_NOT_AVAILABLE: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REPLICA_NOT_AVAILABLE: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.OFFSET_NOT_AVAILABLE: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.NOT_LEADER_OR_FOLLOWER,
}
"""Java's share consumer throws IllegalStateException at a code it does not expect in a ShareFetch partition.

NOT_LEADER_OR_FOLLOWER is one that every client knows and answers with a metadata refresh and another try.
"""


def told_code(error_code: ErrorCode) -> ErrorCode:
    """Return what a share consumer is told about a partition whose read ended with `error_code`."""
    return _TOLD_INSTEAD.get(error_code, error_code)
