"""Records that the log no longer holds: retention or DeleteRecords overtook a share-partition."""

from kproxy.handlers.live.share_services import ShareServices
from kproxy.handlers.live.state_writes import StateWrites
from kproxy.handlers.live.write_actors import log_start_moved
from kproxy.share.share_partition import SharePartition


def move_start(
    services: ShareServices, writes: StateWrites, share_partition: SharePartition, log_start_offset: int
) -> bool:
    """Give up what lies below `log_start_offset`, queue that in `writes`, and count it; tell whether there was any."""
    if log_start_offset <= share_partition.start_offset:
        return False
    before = share_partition.view()
    delta = share_partition.move_start(log_start_offset)
    actors = log_start_moved(before, log_start_offset)
    writes.add(share_partition.key, delta, actors)
    lost = (last - first + 1 for actor in actors for first, last in actor.offset_ranges)
    services.counters.overtaken_by_log_start(share_partition.key.group_id, sum(lost))
    return True
