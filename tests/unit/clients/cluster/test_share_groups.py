"""Share groups as wholes, of a kproxy that runs in this process. tests/kafka/test_groups_command.py has Kafka's own."""

import pytest

from kproxy.clients.cluster.cluster_client import Broker, ClusterClient, connected_cluster
from kproxy.clients.cluster.connection import BrokerAddress
from kproxy.clients.cluster.deadline import Deadline
from kproxy.clients.cluster.share_groups import (
    ListedShareGroup,
    delete_share_groups,
    describe_share_group,
    list_share_groups,
    require_deletable,
)
from kproxy.clients.failures import ClientFailed, NotThere
from kproxy.error_codes import ErrorCode
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.find_coordinator_response import FindCoordinatorResponse
from kproxy.wire.messages.list_groups_response import ListGroupsResponse
from kproxy.wire.messages.metadata_response import MetadataResponse, MetadataResponseBroker
from kproxy.wire.messages.share_group_describe_response import DescribedGroup, ShareGroupDescribeResponse
from tests.in_memory.answering_broker import AnsweringBroker
from tests.in_memory.loop_in_a_thread import loop_in_a_thread
from tests.worlds.administered_proxy import PLAIN_GROUP, AdministeredProxy

HERE = "127.0.0.1"


def test_share_groups_are_listed_with_state_and_coordinator_and_no_other_groups(
    proxy: AdministeredProxy, cluster: ClusterClient
) -> None:
    # Given
    proxy.join("listed-busy", "orders")
    proxy.join("listed-left", "orders")
    proxy.leave("listed-left")

    # When
    listed = {group.group_id: group for group in list_share_groups(cluster)}

    # Then
    assert (listed["listed-busy"].state, listed["listed-left"].state) == ("Stable", "Empty")
    assert f"{HERE}:{listed['listed-busy'].coordinator.port}" == proxy.bootstrap_server
    assert PLAIN_GROUP not in listed


def test_share_groups_are_listed_by_state(proxy: AdministeredProxy, cluster: ClusterClient) -> None:
    # Given
    proxy.join("stated-busy", "orders")
    proxy.join("stated-left", "orders")
    proxy.leave("stated-left")

    # When
    listed = [group.group_id for group in list_share_groups(cluster, ["Empty"])]

    # Then
    assert "stated-left" in listed
    assert "stated-busy" not in listed


def test_a_share_group_is_described_with_its_members(
    proxy: AdministeredProxy, cluster: ClusterClient
) -> None:
    # Given
    proxy.join("described", "orders", member_id="alice")

    # When
    group = describe_share_group(cluster, "described")

    # Then
    assert (group.state, group.assignor_name, group.coordinator.node_id) == ("Stable", "simple", 1)
    (alice,) = group.members
    assert (alice.member_id, alice.client_id, alice.client_host) == ("alice", "client-1", "/127.0.0.1")
    assert [(topic.topic_name, topic.partitions) for topic in alice.assignment] == [("orders", (0, 1))]


@pytest.mark.parametrize("group_id", ["nobody", PLAIN_GROUP])
def test_what_is_no_share_group_is_not_there(cluster: ClusterClient, group_id: str) -> None:
    with pytest.raises(NotThere, match=f"share group '{group_id}' cannot be described: .*GROUP_ID_NOT_FOUND"):
        describe_share_group(cluster, group_id)


def test_only_share_groups_without_members_may_be_deleted() -> None:
    # Given
    broker = Broker(1, HERE, 9092)
    listed = [ListedShareGroup("left", "Empty", broker), ListedShareGroup("busy", "Stable", broker)]

    # When
    found = require_deletable(["left", "busy", "plain"], listed)

    # Then
    assert {group_id: failure and str(failure) for group_id, failure in found.items()} == {
        "left": None,
        "busy": "Share group 'busy' is not EMPTY, but Stable.",
        "plain": "Group 'plain' is not a share group.",
    }
    assert isinstance(found["plain"], NotThere)


def test_a_deletion_says_of_each_group_what_became_of_it(
    proxy: AdministeredProxy, cluster: ClusterClient
) -> None:
    # Given
    proxy.join("deleted-busy", "orders")
    proxy.join("deleted-left", "orders")
    proxy.leave("deleted-left")

    # When
    outcomes = delete_share_groups(cluster, ["deleted-left", "deleted-busy"])

    # Then
    assert outcomes["deleted-left"] is None
    assert "share group 'deleted-busy' cannot be deleted" in str(outcomes["deleted-busy"])
    assert "NON_EMPTY_GROUP" in str(outcomes["deleted-busy"])
    with pytest.raises(NotThere):
        describe_share_group(cluster, "deleted-left")


@pytest.mark.parametrize(
    ("described", "is_told"),
    [
        (ErrorCode.UNSUPPORTED_VERSION, True),
        (ErrorCode.GROUP_ID_NOT_FOUND, False),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, False),
    ],
)
def test_a_cluster_whose_share_groups_are_off_is_told_from_one_that_has_none(
    described: ErrorCode, *, is_told: bool
) -> None:
    # Given
    broker = AnsweringBroker(
        version_ranges={
            ApiKey.METADATA: (0, 13),
            ApiKey.LIST_GROUPS: (0, 5),
            ApiKey.FIND_COORDINATOR: (0, 6),
            ApiKey.SHARE_GROUP_DESCRIBE: (1, 1),
        }
    )
    with loop_in_a_thread() as loop:
        loop.run(broker.start())
        port = broker.address.port
        broker.answers |= {
            ApiKey.METADATA: lambda _: MetadataResponse(brokers=[MetadataResponseBroker(1, HERE, port)]),
            ApiKey.LIST_GROUPS: lambda _: ListGroupsResponse(),
            ApiKey.FIND_COORDINATOR: lambda _: FindCoordinatorResponse(node_id=1, host=HERE, port=port),
            ApiKey.SHARE_GROUP_DESCRIBE: lambda _: ShareGroupDescribeResponse(
                groups=[DescribedGroup(described)]
            ),
        }

        # When
        told = ""
        with connected_cluster([BrokerAddress(HERE, port)], Deadline(10_000)) as cluster:
            try:
                assert list_share_groups(cluster) == []
            except ClientFailed as failure:
                told = str(failure)
        loop.run(broker.stop())

    # Then
    assert ("share groups are off in that cluster" in told) is is_told
