"""Access control lists as Kafka's brokers tell them: `AclBinding`, and the numbers of its enumerations.

Source: `org.apache.kafka.common.acl`, `org.apache.kafka.common.resource`.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

WILDCARD: Final = "*"
"""Every resource, as the name of a literal pattern; every host."""

WILDCARD_PRINCIPAL: Final = "User:*"
"""Every principal. Other kinds of principals have no such word."""

CLUSTER_NAME: Final = "kafka-cluster"
"""The name of the only resource of type CLUSTER (`Resource.CLUSTER_NAME`)."""


class ResourceType(IntEnum):
    """What an operation is about."""

    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5


class PatternType(IntEnum):
    """How the name in a binding is to be read; ANY is for those who ask for bindings."""

    ANY = 1
    LITERAL = 3
    PREFIXED = 4


class AclOperation(IntEnum):
    """What somebody may do, or not; ANY is for those who ask for bindings."""

    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11


class AclPermission(IntEnum):
    """Whether a binding grants or takes; ANY is for those who ask for bindings."""

    ANY = 1
    DENY = 2
    ALLOW = 3


@dataclass(frozen=True, slots=True)
class AclBinding:
    """One entry: `principal` (`User:alice`) from `host` may, or may not, do `operation` on what the pattern names.

    The numbers are those of the wire; newer brokers may send some that no enumeration here has.
    """

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int
