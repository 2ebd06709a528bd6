"""The versions of Apache Kafka that the tests and the demo run, pinned here and nowhere else."""

from dataclasses import dataclass
from enum import Enum
from typing import Final


class MetadataMode(Enum):
    """Who keeps a cluster's metadata: its own controllers, or ZooKeeper beside it."""

    KRAFT = "KRaft"
    ZOOKEEPER = "ZooKeeper"


@dataclass(frozen=True, slots=True)
class LogBinding:
    """The artifact that carries slf4j to a log, without which brokers are mute, and how it is configured."""

    group_id: str
    artifact_id: str
    version: str
    configuration_option: str
    """The JVM option up to the path of the configuration file."""
    configuration_suffix: str
    """What ends the names of this binding's files in `logging/`."""


@dataclass(frozen=True, slots=True)
class KafkaRelease:
    """One pinned release of Apache Kafka and what starting it depends on."""

    version: str
    metadata_mode: MetadataMode
    log_binding: LogBinding
    has_share_groups: bool
    """Whether the feature `share.version` exists, so that it can be switched on or off."""


# Kafka 4.x brings log4j-core of this very version; binding and core have to agree.
LOG4J_2: Final = LogBinding(
    group_id="org.apache.logging.log4j",
    artifact_id="log4j-slf4j-impl",
    version="2.25.4",
    configuration_option="-Dlog4j2.configurationFile=",
    configuration_suffix="log4j2.properties",
)
RELOAD4J: Final = LogBinding(
    group_id="org.slf4j",
    artifact_id="slf4j-reload4j",
    version="1.7.36",
    configuration_option="-Dlog4j.configuration=file:",
    configuration_suffix="log4j.properties",
)

REFERENCE: Final = KafkaRelease("4.3.1", MetadataMode.KRAFT, LOG4J_2, has_share_groups=True)
WITHOUT_SHARE_GROUPS: Final = KafkaRelease("3.9.2", MetadataMode.KRAFT, RELOAD4J, has_share_groups=False)
SHARE_GROUPS_AVAILABLE: Final = KafkaRelease("4.2.1", MetadataMode.KRAFT, LOG4J_2, has_share_groups=True)
SHARE_GROUPS_IN_PREVIEW: Final = KafkaRelease("4.1.2", MetadataMode.KRAFT, LOG4J_2, has_share_groups=True)
SHARE_GROUPS_IN_EARLY_ACCESS: Final = KafkaRelease(
    "4.0.2", MetadataMode.KRAFT, LOG4J_2, has_share_groups=False
)
"""Has no feature `share.version`; settings of a broker switch its early access on."""

FIRST_YEARS_OF_KRAFT: Final = KafkaRelease("3.5.2", MetadataMode.KRAFT, RELOAD4J, has_share_groups=False)
"""Run by the compatibility tests only, so that nobody else waits for its download."""

OLDEST: Final = KafkaRelease("2.8.2", MetadataMode.ZOOKEEPER, RELOAD4J, has_share_groups=False)

EVERYDAY_RELEASES: Final = (REFERENCE, WITHOUT_SHARE_GROUPS, OLDEST)
"""Those that the tests of share groups run on."""

BEFORE_THE_REFERENCE: Final = (
    SHARE_GROUPS_AVAILABLE,
    SHARE_GROUPS_IN_PREVIEW,
    SHARE_GROUPS_IN_EARLY_ACCESS,
)
"""Releases in which share groups became what they are; run by `make soak` only."""

PINNED_RELEASES: Final = (
    REFERENCE,
    *BEFORE_THE_REFERENCE,
    WITHOUT_SHARE_GROUPS,
    FIRST_YEARS_OF_KRAFT,
    OLDEST,
)
"""All of them, newest first."""


class UnknownVersion(ValueError):
    """A version that is not pinned. Raised by `release_of`; the command line prints it."""


def release_of(version: str) -> KafkaRelease:
    """The pinned release of `version`; raises `UnknownVersion` for any other."""
    for release in PINNED_RELEASES:
        if release.version == version:
            return release
    pinned = ", ".join(release.version for release in PINNED_RELEASES)
    raise UnknownVersion(f"Apache Kafka {version} is not among the pinned versions {pinned}")
