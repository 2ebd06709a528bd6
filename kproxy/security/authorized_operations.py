"""What a broker tells of a client's rights in its answers: the fields of authorized operations, and refusals.

A field has a bit for each operation by its number, as its authorizer decides it for whoever asked, from where it asked.
What a broker leaves out it has not told, and nothing is concluded from it that would allow anything.

Source: `AuthHelper.authorizedOperations`, `AclEntry.supportedOperations`, `KafkaApis` of Kafka 2.8, 3.9 and 4.3.
"""

from dataclasses import dataclass
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.security.acls import AclOperation

OMITTED: Final = -(2**31)
"""Stands in a field of operations that was not filled in (`AUTHORIZED_OPERATIONS_OMITTED`)."""

_ALL: Final = (1 << 32) - 1
_READ: Final = 1 << AclOperation.READ
_DESCRIBE: Final = 1 << AclOperation.DESCRIBE

_SAID_BEHIND_THE_AUTHORIZER: Final = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
    }
)
"""What is answered about a group only to who may do what was asked: its authorizer is asked first."""


@dataclass(frozen=True, slots=True)
class ToldOperations:
    """What was told of one resource: a bit for each operation that is `known`, and for each that is `allowed`."""

    known: int = 0
    allowed: int = 0

    def allows(self, operation: int) -> bool | None:
        """Tell whether `operation` is allowed; None when that was not told."""
        if not self.known >> operation & 1:
            return None
        return bool(self.allowed >> operation & 1)


NOTHING_TOLD: Final = ToldOperations()
_NONE_ALLOWED: Final = ToldOperations(_ALL)


def of_topic(error_code: int, operations: int) -> ToldOperations:
    """Return what an entry of Metadata tells. Who may not describe a topic is not told the rest, and has no right."""
    if error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return _NONE_ALLOWED
    return NOTHING_TOLD if operations == OMITTED else ToldOperations(_ALL, operations & _ALL)


def of_cluster(operations: int) -> ToldOperations:
    """Return what Metadata tells of the cluster: no operation at all to who may not describe it."""
    return NOTHING_TOLD if operations == OMITTED else ToldOperations(_ALL, operations & _ALL)


def of_described_group(error_code: int, operations: int) -> ToldOperations:
    """Return what an entry of DescribeGroups tells.

    A broker that is not the coordinator tells by its error that the group may be described, and no more. Who may not
    describe it is not told the rest, and has no other right but perhaps to read it: see `of_reading`.
    """
    if error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED:
        return ToldOperations(_ALL & ~_READ)
    if error_code == ErrorCode.NOT_COORDINATOR:
        return ToldOperations(_DESCRIBE, _DESCRIBE)
    if error_code != ErrorCode.NONE or operations == OMITTED:
        return NOTHING_TOLD
    return ToldOperations(_ALL, operations & _ALL)


def of_reading(error_code: int) -> ToldOperations:
    """Return what the answer to a Heartbeat of nobody tells: any broker asks first whether the group may be read."""
    if error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED:
        return ToldOperations(_READ)
    return ToldOperations(_READ, _READ) if error_code in _SAID_BEHIND_THE_AUTHORIZER else NOTHING_TOLD


def of_fetching(error_code: int) -> ToldOperations:
    """Return what the answer to a Fetch of a partition that no topic has tells: a broker first asks for the right.

    It tells nothing of DESCRIBE, which may be denied to who may read.
    """
    if error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return ToldOperations(_READ)
    return (
        ToldOperations(_READ, _READ) if error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION else NOTHING_TOLD
    )


def of_configs(operation: int, error_code: int) -> ToldOperations:
    """Return what the answer to a request about the configurations of a group tells of `operation`, which that wants.

    Brokers before Kafka 3.8 know no configurations of groups, and tell nothing.
    """
    if error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED:
        return ToldOperations(1 << operation)
    return ToldOperations(1 << operation, 1 << operation) if error_code == ErrorCode.NONE else NOTHING_TOLD
