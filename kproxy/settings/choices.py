"""The keys of which the value is one of a few words."""

from enum import StrEnum


class ShareAssignor(StrEnum):
    """Who shares out the partitions of share groups."""

    SIMPLE = "simple"


class ShareUpstream(StrEnum):
    """What to do about a backing cluster that serves share groups itself."""

    REFUSE = "refuse"
    SHADOW = "shadow"


class CorruptRecords(StrEnum):
    """What recovery does about a record of the state log that cannot be used."""

    FAIL = "fail"
    SKIP = "skip"


class LogFormat(StrEnum):
    """How log lines look."""

    AUTO = "auto"
    JSON = "json"
    TEXT = "text"


class LogLevel(StrEnum):
    """The least severe log line that is written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class UpstreamSecurityProtocol(StrEnum):
    """How kproxy's own connections reach the backing brokers."""

    PLAINTEXT = "PLAINTEXT"
