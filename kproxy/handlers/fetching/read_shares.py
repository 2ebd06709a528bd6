"""How many bytes are read from each of the share-partitions that a fetch reads in one request."""

from collections.abc import Mapping

from kproxy.handlers.fetching.fetch_terms import FetchTerms
from kproxy.handlers.fetching.read_offsets import acquirable_from
from kproxy.handlers.live.share_services import ShareServices
from kproxy.handlers.ports import PartitionRead
from kproxy.share.identifiers import SharePartitionKey, TopicIdPartition


def reads_of(
    services: ShareServices, terms: FetchTerms, offsets: Mapping[TopicIdPartition, int]
) -> tuple[dict[TopicIdPartition, PartitionRead], int]:
    """Return the reads from `offsets`, and how many bytes they may bring together.

    These are what is asked for, wanted, and granted to the answer, and they are shared out evenly. A share-partition
    whose next batch had no room comes first.
    """
    wanted: dict[TopicIdPartition, int] = {}
    due: list[TopicIdPartition] = []
    others: list[TopicIdPartition] = []
    for partition, offset in offsets.items():
        key = terms.key(partition)
        size = services.directory.read_size(key)
        wanted[partition] = size.bytes_for(min(terms.max_records, acquirable_offsets(services, key, offset)))
        (due if size.is_first_due else others).append(partition)
    max_bytes = terms.context.answer_budget.grant(min(terms.max_bytes, max(wanted.values())))
    share_bytes = max(min(terms.max_bytes // len(offsets), max_bytes), 1)
    reads = {
        partition: PartitionRead(
            partition.topic_id, partition.partition, offsets[partition], min(share_bytes, wanted[partition])
        )
        for partition in (*due, *others)
    }
    return reads, max_bytes


def acquirable_offsets(services: ShareServices, key: SharePartitionKey, offset: int) -> int:
    """Return how many offsets of `key` from `offset` on may be acquired at most; 0 when it is not live."""
    share_partition = services.directory.with_current_limits(key)
    return 0 if share_partition is None else acquirable_from(share_partition, offset)


def are_unchanged(
    services: ShareServices, terms: FetchTerms, offsets: Mapping[TopicIdPartition, int]
) -> bool:
    """Tell whether each share-partition is still live, and would still be read from its offset."""
    found = {partition: services.directory.with_current_limits(terms.key(partition)) for partition in offsets}
    return all(
        live is not None and live.can_acquire() and live.next_fetch_offset() == offsets[partition]
        for partition, live in found.items()
    )
