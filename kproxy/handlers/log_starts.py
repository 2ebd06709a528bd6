"""Records that the log no longer holds: retention or DeleteRecords overtook a share-partition."""

from kproxy.handlers.share_services import ShareServices
from kproxy.handlers.state_writes import StateWrites
from kproxy.handlers.write_actors import log_start_moved
from kproxy.share.share_partition import SharePartition


def move_start(
    services: ShareServices, writes: StateWrites, share_partition: SharePartition, log_start_offset: int
) -> bool:
    """Give up what lies below `log_start_offset`, queue that in `writes`, and count it; tell whether there was any."""
    before = share_partition.start_offset
    done_before = share_partition.delivery_complete_count
    delta = share_partition.move_start(log_start_offset)
    writes.add(share_partition.key, delta, log_start_moved())
    done_with = done_before - share_partition.delivery_complete_count
    services.counters.overtaken_by_log_start(share_partition.start_offset - before - done_with)
    return not delta.is_empty
