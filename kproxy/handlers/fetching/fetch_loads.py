"""The share-partitions that a ShareFetch asks for and that are not live yet: each is loaded, or refused.

A load goes on without the fetch that began it (`share_partitions`); what is replayed is waited for.
"""

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError, ShareStateStillLoading
from kproxy.handlers.live.leadership import PartitionRefusal
from kproxy.handlers.live.load_queue import LoadUnderWay
from kproxy.handlers.live.share_services import ShareServices
from kproxy.share.identifiers import SharePartitionKey, TopicIdPartition


class FetchLoads:
    """The loads that one fetch waits for."""

    __slots__ = ("_services", "_under_way")

    def __init__(self, services: ShareServices) -> None:
        self._services = services
        self._under_way: dict[SharePartitionKey, LoadUnderWay] = {}

    def __len__(self) -> int:
        """How many there are: those that ended count until `begin` or `forget` is told of them."""
        return len(self._under_way)

    def forget(self, key: SharePartitionKey) -> None:
        """Wait no more for `key`, which is live, if it was waited for."""
        self._under_way.pop(key, None)

    def begin(self, key: SharePartitionKey) -> PartitionRefusal | None:
        """See to it that `key`, which is not live, is being loaded; return why it cannot be, None when it can."""
        load = self._under_way.pop(key, None)
        if load is not None and load.is_over:
            if (refusal := _refusal(key, load.failure)) is not None:
                return refusal
            load = None
        if load is None:
            partition = TopicIdPartition(key.topic_id, key.partition)
            if not self._services.leadership.is_known(partition):
                # It was known when the fetch began: the topic was deleted while the fetch waited.
                return PartitionRefusal(ErrorCode.UNKNOWN_TOPIC_ID, "there is no topic with this id any more")
            load = self._services.directory.begin_load(key)
            if load.is_over and (refusal := _refusal(key, load.failure)) is not None:
                return refusal
        self._under_way[key] = load
        return None


def _refusal(key: SharePartitionKey, failure: Exception | None) -> PartitionRefusal | None:
    """Return the refusal of what cannot be loaded. What is replayed can be, later."""
    match failure:
        case None | ShareStateStillLoading():
            return None
        case ApiError():
            return PartitionRefusal(failure.error_code, str(failure))
        case _:
            raise AssertionError(f"{key} could not be loaded") from failure
