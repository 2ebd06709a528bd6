"""What brokers ask of a share coordinator: its five APIs about one share-partition, and where it is."""

from base64 import urlsafe_b64encode
from collections.abc import Iterator
from typing import Final

from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages import delete_share_group_state_request as deletion
from kproxy.wire.messages import initialize_share_group_state_request as initialization
from kproxy.wire.messages import read_share_group_state_request as reading
from kproxy.wire.messages import read_share_group_state_summary_request as summary
from kproxy.wire.messages import write_share_group_state_request as writing

SHARE_KEY_TYPE: Final = 2
FIRST_WITH_SHARE_KEYS: Final = 6
FIRST_WITH_SEVERAL_KEYS: Final = 4


def state_requests(group: str, topic_id: bytes) -> Iterator[tuple[str, int, int, Message]]:
    """Yield each request with a label, its API key and version, in the order of a state's life."""
    initialized = initialization.InitializeStateData(topic_id, [initialization.PartitionData(0, 0, 0)])
    yield (
        "initialize state",
        ApiKey.INITIALIZE_SHARE_GROUP_STATE,
        0,
        initialization.InitializeShareGroupStateRequest(group, [initialized]),
    )
    read = reading.ReadStateData(topic_id, [reading.PartitionData(0, 0)])
    yield (
        "read state",
        ApiKey.READ_SHARE_GROUP_STATE,
        0,
        reading.ReadShareGroupStateRequest(group, [read]),
    )
    written = writing.WriteStateData(topic_id, [writing.PartitionData(0, 0, 0, 1)])
    for version in (0, 1):
        yield (
            f"write state {version}",
            ApiKey.WRITE_SHARE_GROUP_STATE,
            version,
            writing.WriteShareGroupStateRequest(group, [written]),
        )
    summarized = summary.ReadStateSummaryData(topic_id, [summary.PartitionData(0, 0)])
    for version in (0, 1):
        yield (
            f"read summary {version}",
            ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
            version,
            summary.ReadShareGroupStateSummaryRequest(group, [summarized]),
        )
    deleted = deletion.DeleteStateData(topic_id, [deletion.PartitionData(0)])
    yield (
        "delete state",
        ApiKey.DELETE_SHARE_GROUP_STATE,
        0,
        deletion.DeleteShareGroupStateRequest(group, [deleted]),
    )


def share_coordinator_keys(group: str, topic_id: bytes) -> Iterator[tuple[str, int, str]]:
    """Yield a search for the coordinator of a share-partition, of what is none, and one that is too old to be one."""
    text = urlsafe_b64encode(topic_id).decode().rstrip("=")
    key = f"{group}:{text}:0"
    yield "find share coordinator", FIRST_WITH_SHARE_KEYS, key
    yield "find a share coordinator of nothing", FIRST_WITH_SHARE_KEYS, "nothing"
    for version in (1, 4):
        yield f"find share coordinator in version {version}", version, key
