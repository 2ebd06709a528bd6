"""Keys that Kafka's brokers have for share groups, and that would say nothing to kproxy: each with the reason.

To take one and do nothing about it would be worse than to refuse it. Source: `ShareGroupConfig`,
`ShareCoordinatorConfig` and `GroupCoordinatorConfig` of Kafka 4.0 to 4.4.
"""

from typing import Final

_NO_DEAD_LETTERS: Final = "dead letters come in a later version"
_REMOVED: Final = "Kafka 4.0 alone had it"

KEYS_WITHOUT_EFFECT: Final[dict[str, str]] = {
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
