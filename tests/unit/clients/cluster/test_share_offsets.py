"""Offsets of share groups, of a kproxy that runs in this process."""

import pytest

from kproxy.clients.cluster.cluster_client import ClusterClient
from kproxy.clients.cluster.share_offsets import ShareOffset, alter_offsets, delete_offsets, describe_offsets
from kproxy.clients.cluster.topics import Partition
from kproxy.clients.failures import ClientFailed, NotThere
from kproxy.errors import ExitCode
from kproxy.share.identifiers import topic_id_text
from tests.worlds.administered_proxy import ORDERS, AdministeredProxy


def test_a_group_begins_where_it_is_told_to_and_is_created_for_that(
    proxy: AdministeredProxy, cluster: ClusterClient
) -> None:
    # Given
    proxy.append(ORDERS, 0, 10)

    # When
    outcomes = alter_offsets(cluster, "altered", {Partition("orders", 0): 4})

    # Then
    assert outcomes == {Partition("orders", 0): None}
    (offset,) = describe_offsets(cluster, "altered")
    assert offset == ShareOffset(topic_id_text(ORDERS), "orders", 0, 0, 4, 6, "")


def test_what_was_not_chosen_yet_is_not_known(proxy: AdministeredProxy, cluster: ClusterClient) -> None:
    # Given
    proxy.empty_group("new", "orders")

    # When
    found = describe_offsets(cluster, "new")

    # Then
    assert [(each.partition, each.leader_epoch, each.start_offset, each.lag) for each in found] == [
        (0, None, None, None),
        (1, None, None, None),
    ]


def test_an_unknown_group_has_no_offsets(cluster: ClusterClient) -> None:
    assert describe_offsets(cluster, "nobody") == []


def test_partitions_that_are_not_there_are_refused_one_by_one(cluster: ClusterClient) -> None:
    # When
    outcomes = alter_offsets(cluster, "partly", {Partition("orders", 1): 0, Partition("orders", 9): 0})

    # Then
    assert outcomes[Partition("orders", 1)] is None
    assert isinstance(outcomes[Partition("orders", 9)], NotThere)
    assert "orders-9 cannot be altered" in str(outcomes[Partition("orders", 9)])


def test_a_group_with_members_keeps_its_offsets(proxy: AdministeredProxy, cluster: ClusterClient) -> None:
    # Given
    proxy.join("busy", "orders")

    # When
    with pytest.raises(ClientFailed, match=r"cannot be altered: .*NON_EMPTY_GROUP") as refusal:
        alter_offsets(cluster, "busy", {Partition("orders", 0): 0})

    # Then
    assert refusal.value.exit_code is ExitCode.FAILED


def test_a_deletion_says_of_each_topic_what_became_of_it(
    proxy: AdministeredProxy, cluster: ClusterClient
) -> None:
    # Given
    proxy.empty_group("forgetful", "orders", "payments")

    # When
    outcomes = delete_offsets(cluster, "forgetful", ["orders", "nothing"])

    # Then
    assert outcomes["orders"] is None
    assert isinstance(outcomes["nothing"], NotThere)
    assert [offset.topic_name for offset in describe_offsets(cluster, "forgetful")] == ["payments"]


def test_offsets_of_an_unknown_group_cannot_be_deleted(cluster: ClusterClient) -> None:
    with pytest.raises(
        NotThere, match=r"offsets of share group 'nobody' cannot be deleted: .*GROUP_ID_NOT_FOUND"
    ):
        delete_offsets(cluster, "nobody", ["orders"])
