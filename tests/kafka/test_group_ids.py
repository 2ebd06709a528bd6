"""One name, one kind of group: what is a consumer group already cannot become a share group."""

import pytest
from confluent_kafka import Consumer, TopicPartition

from kproxy.error_codes import ErrorCode
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from tests.kafka.administration import unique_name
from tests.kafka.raw_connection import RawConnection
from tests.kafka.share_endpoint import (
    KPROXY_OLDEST,
    KPROXY_REFERENCE,
    KPROXY_WITHOUT_SHARE_GROUPS,
    NATIVE,
    EndpointsOfSession,
)

HEARTBEAT_VERSION = 1


@pytest.mark.parametrize("behind", [NATIVE, KPROXY_REFERENCE, KPROXY_WITHOUT_SHARE_GROUPS, KPROXY_OLDEST])
def test_the_id_of_a_consumer_group_is_refused_to_share_consumers(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    topic, group = endpoint.new_topic(), unique_name("consumers")
    commit(endpoint.bootstrap_servers, group=group, topic=topic)

    # When
    errors = {name: join(endpoint.bootstrap_servers, name, topic) for name in (group, unique_name("free"))}

    # Then
    assert list(errors.values()) == [ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.NONE]


def commit(bootstrap_servers: str, *, group: str, topic: str) -> None:
    """Make `group` a group of plain consumers."""
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
    consumer.close()


def join(address: str, group: str, topic: str) -> int:
    """The error code that a share consumer is answered with."""
    request = ShareGroupHeartbeatRequest(
        group_id=group, member_id="raw-member", subscribed_topic_names=[topic]
    )
    with RawConnection(address) as connection:
        response = connection.ask(
            ApiKey.SHARE_GROUP_HEARTBEAT, HEARTBEAT_VERSION, request, ShareGroupHeartbeatResponse
        )
    return response.error_code
