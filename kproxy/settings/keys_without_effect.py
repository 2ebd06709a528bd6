"""Keys that Kafka has for share groups and for TLS, and that would say nothing to kproxy: each with the reason.

To take one and do nothing about it would be worse than to refuse it. Source: `ShareGroupConfig`,
`ShareCoordinatorConfig` and `GroupCoordinatorConfig` of Kafka 4.0 to 4.4, `SslConfigs`.
"""

from typing import Final

_NO_DEAD_LETTERS: Final = "dead letters come in a later version"
_REMOVED: Final = "Kafka 4.0 alone had it"

_NO_JAVA: Final = "OpenSSL serves TLS, not Java"
_PEM_IN_FILES: Final = "private keys and certificates stand in files, which can be replaced while kproxy runs"
_PEM_NEEDS_NONE: Final = "a file in PEM has no password of its own, and its private key has ssl.key.password"

_OF_TLS: Final = {
    "security.protocol": "kproxy.listener.security.protocol says what its ports speak, and upstream.security.protocol "
    "how brokers are reached",
    "ssl.keystore.key": f"{_PEM_IN_FILES}: name them with ssl.keystore.location",
    "ssl.keystore.certificate.chain": f"{_PEM_IN_FILES}: name them with ssl.keystore.location",
    "ssl.truststore.certificates": f"{_PEM_IN_FILES}: name them with ssl.truststore.location",
    "ssl.keystore.password": _PEM_NEEDS_NONE,
    "ssl.truststore.password": _PEM_NEEDS_NONE,
    "ssl.protocol": "ssl.enabled.protocols says which versions are used",
    "ssl.provider": _NO_JAVA,
    "ssl.keymanager.algorithm": _NO_JAVA,
    "ssl.trustmanager.algorithm": _NO_JAVA,
    "ssl.secure.random.implementation": _NO_JAVA,
    "ssl.engine.factory.class": _NO_JAVA,
}

KEYS_WITHOUT_EFFECT: Final[dict[str, str]] = {
    **_OF_TLS,
    **{f"upstream.{key}": reason for key, reason in _OF_TLS.items() if key.startswith("ssl.")},
    "ssl.endpoint.identification.algorithm": "clients are not dialled, and brokers have the same key with upstream.",
    "upstream.ssl.client.auth": "brokers ask kproxy for a certificate, or do not",
    "upstream.ssl.principal.mapping.rules": "brokers make kproxy's principal",
    "share.fetch.purgatory.purge.interval.requests": "a fetch that is over leaves nothing behind that would be purged",
    "group.share.persister.class.name": "the state of share groups is always kept in kproxy's own state log",
    "group.share.assignor.offload.enable": "assignments are computed where they are needed, as in Kafka 4.3",
    "group.share.dlq.manager.class.name": _NO_DEAD_LETTERS,
    "errors.deadletterqueue.auto.create.topics.enable": _NO_DEAD_LETTERS,
    "errors.deadletterqueue.topic.name.prefix": _NO_DEAD_LETTERS,
    "group.share.enable": "set kproxy.share.upstream, which says when kproxy serves share groups",
    "group.share.max.groups": f"{_REMOVED}; group.share.max.share.sessions bounds what they cost",
    "share.fetch.max.fetch.records": f"{_REMOVED}; group.share.partition.max.record.locks bounds what is in flight",
    "share.coordinator.state.topic.compression.codec": "records of the state log are small and are written as they are",
    "share.coordinator.threads": "one event loop serves everything",
    "share.coordinator.load.buffer.size": "the state log is read with kproxy's own connections, which have bounds",
    "share.coordinator.append.linger.ms": "what waits while a write is under way is written with the next one",
    "share.coordinator.cached.buffer.max.bytes": "kproxy keeps no buffers of records between writes",
}
"""Why each has none; the reason follows a colon."""
