"""Which requests are looked into for what is closed to clients, and what becomes of both kinds."""

from typing import Final

from kproxy.interception.closed_requests import CLOSED_KEYS, deny_closed
from kproxy.interception.closed_topics import ClosedTopics
from kproxy.interception.known_versions import NEWEST_KNOWN
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from kproxy.wire.messages.end_txn_request import EndTxnRequest

STATE: Final = "__kproxy_share_state"


def denies(api_key: int, version: int, message: Message) -> bool:
    """Whether it is answered here and nothing of it left for the broker."""
    found = deny_closed(DecodedRequest(api_key, version, 1, "client", message), ClosedTopics((STATE,)))
    return found is not None and found.left is None


def test_topics_and_transactions_of_the_state_log_are_denied_and_others_pass() -> None:
    assert denies(ApiKey.CREATE_PARTITIONS, 3, CreatePartitionsRequest([CreatePartitionsTopic(STATE, 9)]))
    assert denies(ApiKey.END_TXN, 3, EndTxnRequest(f"{STATE}-0"))
    assert not denies(
        ApiKey.CREATE_PARTITIONS, 3, CreatePartitionsRequest([CreatePartitionsTopic("orders", 9)])
    )
    assert not denies(ApiKey.END_TXN, 3, EndTxnRequest("payments-0"))


def test_what_is_not_looked_into_tells_of_topics_or_is_asked_of_the_cluster_or_a_group() -> None:
    """Every request of clients that names topics and is not looked into, each for a reason; see `closed_topics`."""
    open_on_purpose = {
        # They tell who and what is there.
        ApiKey.METADATA,
        ApiKey.DESCRIBE_CONFIGS,
        ApiKey.DESCRIBE_LOG_DIRS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.DESCRIBE_PRODUCERS,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        # Brokers ask for rights on the cluster alone, for all topics at once.
        ApiKey.ELECT_LEADERS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.ALTER_REPLICA_LOG_DIRS,
        # Numbers that a group keeps.
        ApiKey.OFFSET_COMMIT,
        ApiKey.OFFSET_FETCH,
        ApiKey.OFFSET_DELETE,
        ApiKey.TXN_OFFSET_COMMIT,
        # A consumer of a group fetches, which is looked into.
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.STREAMS_GROUP_HEARTBEAT,
    }
    assert open_on_purpose.isdisjoint(CLOSED_KEYS)
    assert open_on_purpose | CLOSED_KEYS <= set(NEWEST_KNOWN)
