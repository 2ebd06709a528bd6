"""The clusters that clients are run against: the columns of the matrix."""

from dataclasses import dataclass
from typing import Final

from tests.real_kafka.node_settings import Settings
from tests.real_kafka.versions import (
    FIRST_YEARS_OF_KRAFT,
    OLDEST,
    REFERENCE,
    WITHOUT_SHARE_GROUPS,
    KafkaRelease,
    MetadataMode,
    release_of,
)


@dataclass(frozen=True, slots=True)
class Backing:
    """A cluster of `broker_count` brokers, with share groups off where it has them."""

    version: str
    broker_count: int

    @property
    def label(self) -> str:
        """How tables and options name it, such as `3.9.2x3`."""
        return f"{self.version}x{self.broker_count}"

    @property
    def release(self) -> KafkaRelease:
        """The pinned release; raises `UnknownVersion` if it is none."""
        return release_of(self.version)

    @property
    def uses_zookeeper(self) -> bool:
        return self.release.metadata_mode is MetadataMode.ZOOKEEPER

    def is_at_least(self, major: int, minor: int = 0) -> bool:
        """Whether it runs this version of Kafka or a later one."""
        own_major, own_minor, *_ = (int(number) for number in self.version.split("."))
        return (own_major, own_minor) >= (major, minor)

    def broker_settings(self) -> Settings:
        """ACLs are kept and everybody may do everything; a consumer may fetch from a replica in its own rack."""
        authorizer = (
            "kafka.security.authorizer.AclAuthorizer"
            if self.uses_zookeeper
            else "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
        )
        return {
            "authorizer.class.name": authorizer,
            "super.users": "User:ANONYMOUS",
            "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        }

    def settings_by_node(self) -> dict[int, Settings]:
        """A rack for each broker."""
        return {node_id: {"broker.rack": rack_of(node_id)} for node_id in range(1, self.broker_count + 1)}


def rack_of(node_id: int) -> str:
    """The rack that a broker is in."""
    return f"rack-{node_id}"


BACKINGS: Final = tuple(
    Backing(release.version, broker_count)
    for release in (REFERENCE, WITHOUT_SHARE_GROUPS, FIRST_YEARS_OF_KRAFT, OLDEST)
    for broker_count in (1, 3)
)
"""Every column of the matrix."""

EVERYDAY_BACKINGS: Final = (Backing(REFERENCE.version, 3),)
"""What `make test` runs. The others are left to `make soak`."""


class UnknownBacking(ValueError):
    """A label that no backing has."""


def backing_of(label: str) -> Backing:
    """The backing with this label; raises `UnknownBacking`."""
    for backing in BACKINGS:
        if backing.label == label:
            return backing
    raise UnknownBacking(f"{label} is none of {', '.join(backing.label for backing in BACKINGS)}")
