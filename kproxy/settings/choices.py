"""The keys of which the value is one of a few words."""

from enum import StrEnum


class ShareAssignor(StrEnum):
    """Who shares out the partitions of share groups."""

    SIMPLE = "simple"


class ShareUpstream(StrEnum):
    """What to do about a backing cluster that serves share groups itself."""

    REFUSE = "refuse"
    SHADOW = "shadow"


class AuthorizerSource(StrEnum):
    """What kproxy goes by when it decides who may do what to share groups."""

    AUTO = "auto"
    ACLS = "acls"
    OPERATIONS = "operations"


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
    """How kproxy's connections reach the backing brokers, as Kafka names it."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def has_tls(self) -> bool:
        """Whether every connection to a broker is encrypted: kproxy's own, and those that belong to clients."""
        return self in {UpstreamSecurityProtocol.SSL, UpstreamSecurityProtocol.SASL_SSL}

    @property
    def has_sasl(self) -> bool:
        """Whether brokers ask who connects before they answer anything else."""
        return self in {UpstreamSecurityProtocol.SASL_PLAINTEXT, UpstreamSecurityProtocol.SASL_SSL}


class ListenerSecurityProtocol(StrEnum):
    """What kproxy's ports speak. SASL passes through either, so that it has no word here."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"


class ClientAuth(StrEnum):
    """Whether clients show a certificate (`ssl.client.auth`)."""

    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


class StoreType(StrEnum):
    """The formats of key and trust stores that Kafka knows. kproxy reads PEM, and says how to convert the others."""

    PEM = "PEM"
    JKS = "JKS"
    PKCS12 = "PKCS12"


class HostnameCheck(StrEnum):
    """Whether a broker's certificate must name the broker (`ssl.endpoint.identification.algorithm`)."""

    HTTPS = "https"
    NONE = ""


class SaslMechanism(StrEnum):
    """How kproxy's own connections prove to brokers who they are."""

    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"
    OAUTHBEARER = "OAUTHBEARER"
