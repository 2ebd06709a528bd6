"""Whoever lists, describes or deletes share groups gets from kproxy what a stock broker with share groups gives."""

from collections.abc import Sequence
from typing import Any

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.describe_groups_request import DescribeGroupsRequest
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.share_group_describe_response import ShareGroupDescribeResponse
from kproxy.wire.messages.streams_group_heartbeat_request import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    Topology,
)
from tests.kafka.administered_groups import BOTH, MEMBER, Groups, on_both
from tests.kafka.test_group_ids import commit
from tests.real_kafka.raw_connection import RawConnection
from tests.real_kafka.share_endpoint import KPROXY_THREE_BROKERS, EndpointsOfSession

# ---- raw requests


def test_share_groups_are_described_as_a_stock_broker_does(share_endpoint: EndpointsOfSession) -> None:
    def scenario(groups: Groups) -> object:
        names = [*groups.names.values(), groups.names["busy"]]
        return [
            groups.ask(ApiKey.SHARE_GROUP_DESCRIBE, 1, ShareGroupDescribeRequest(asked, asks))
            for asked in (names, [""], [])
            for asks in (False, True)
        ]

    stock, through_kproxy = on_both(share_endpoint, scenario)

    assert _without_messages_about(through_kproxy, "plain") == _without_messages_about(stock, "plain")


def test_groups_are_listed_in_every_version_as_a_stock_broker_does(
    share_endpoint: EndpointsOfSession,
) -> None:
    filters: Sequence[tuple[list[str], list[str]]] = [
        ([], ["share"]),
        ([], ["SHARE", "classic"]),
        (["empty"], ["Share"]),
        ([" Stable "], ["share"]),
        (["Dead"], []),
        ([], ["nonsense"]),
        (["nonsense"], ["share"]),
        (["stable"], []),
    ]

    def scenario(groups: Groups) -> object:
        unfiltered = [groups.ask(ApiKey.LIST_GROUPS, version, ListGroupsRequest()) for version in range(6)]
        by_state = groups.ask(ApiKey.LIST_GROUPS, 4, ListGroupsRequest(["STABLE"]))
        filtered = [groups.ask(ApiKey.LIST_GROUPS, 5, ListGroupsRequest(*each)) for each in filters]
        return [unfiltered, by_state, filtered]

    stock, through_kproxy = on_both(share_endpoint, scenario)

    assert through_kproxy == stock


def test_share_groups_are_no_classic_groups_in_any_version(share_endpoint: EndpointsOfSession) -> None:
    def scenario(groups: Groups) -> object:
        names = list(groups.names.values())
        return [
            groups.ask(ApiKey.DESCRIBE_GROUPS, version, DescribeGroupsRequest(names, version >= 3))
            for version in range(7)
        ]

    stock, through_kproxy = on_both(share_endpoint, scenario)

    assert through_kproxy == stock


def test_groups_of_all_types_are_deleted_together_as_a_stock_broker_does(
    share_endpoint: EndpointsOfSession,
) -> None:
    def scenario(groups: Groups) -> object:
        names = [*groups.names.values(), "", groups.names["left"]]
        told: list[object] = []
        for version in range(3):
            told.append(groups.ask(ApiKey.DELETE_GROUPS, version, DeleteGroupsRequest(names)))
            groups.join("left")
            groups.heartbeat("left", -1)
            commit(groups.address, group=groups.names["plain"], topic=groups.topic)
        groups.heartbeat("busy", -1)
        told.append(groups.ask(ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(names)))
        told.append(groups.ask(ApiKey.LIST_GROUPS, 5, ListGroupsRequest()))
        told.append(groups.ask(ApiKey.SHARE_GROUP_DESCRIBE, 1, ShareGroupDescribeRequest(names[:1])))
        return told

    stock, through_kproxy = on_both(share_endpoint, scenario)

    assert through_kproxy == stock


def test_the_id_of_a_deleted_share_group_is_free_for_groups_of_any_type(
    share_endpoint: EndpointsOfSession,
) -> None:
    def scenario(groups: Groups) -> object:
        def delete(label: str) -> object:
            return groups.ask(ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest([groups.names[label]]))

        told = [delete("left"), groups.heartbeat("left", 1).error_code]
        commit(groups.address, group=groups.names["left"], topic=groups.topic)
        told += [groups.heartbeat("left", 0, [groups.topic]).error_code, delete("left")]
        return [*told, groups.join("left").error_code]

    stock, through_kproxy = on_both(share_endpoint, scenario)

    assert through_kproxy == stock


def test_a_new_share_group_of_a_deleted_ones_id_begins_as_any_new_one(
    share_endpoint: EndpointsOfSession,
) -> None:
    """Its epochs are those of a new group, and its member is assigned everything once more."""

    def epochs(groups: Groups) -> list[int]:
        request = ShareGroupDescribeRequest([groups.names["busy"]])
        with RawConnection(groups.address) as connection:
            answer = connection.ask(ApiKey.SHARE_GROUP_DESCRIBE, 1, request, ShareGroupDescribeResponse)
        return [answer.groups[0].group_epoch, answer.groups[0].assignment_epoch]

    for behind in BOTH:
        groups = Groups(share_endpoint(behind))
        before = epochs(groups)
        groups.heartbeat("busy", -1)
        groups.ask(ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest([groups.names["busy"]]))
        groups.join("busy")
        assert epochs(groups) == before, behind


@pytest.mark.parametrize("member_epoch", [0, 1, -1])
def test_the_id_of_a_share_group_is_refused_to_groups_of_newer_protocols_in_the_same_words(
    share_endpoint: EndpointsOfSession, member_epoch: int
) -> None:
    def scenario(groups: Groups) -> object:
        part = Subtopology("s", [groups.topic])
        streams = StreamsGroupHeartbeatRequest(
            group_id=groups.names["busy"],
            member_id=MEMBER,
            member_epoch=member_epoch,
            rebalance_timeout_ms=-1 if member_epoch else 10_000,
            topology=None if member_epoch else Topology(0, [part]),
            active_tasks=[],
            standby_tasks=[],
            warmup_tasks=[],
            process_id="process",
        )
        consumer = ConsumerGroupHeartbeatRequest(
            group_id=groups.names["busy"],
            member_id=MEMBER,
            member_epoch=member_epoch,
            rebalance_timeout_ms=10_000,
            subscribed_topic_names=[groups.topic],
            topic_partitions=[],
        )
        return [
            groups.ask(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, streams),
            groups.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, consumer),
        ]

    stock, through_kproxy = on_both(share_endpoint, scenario)

    assert through_kproxy == stock


def _without_messages_about(told: Any, label: str) -> Any:
    """`told`, but for why a group of another type cannot be described, which kproxy tells as of an unknown one."""
    if isinstance(told, list):
        return [_without_messages_about(each, label) for each in told]
    if not isinstance(told, dict):
        return told
    kept = {key: _without_messages_about(value, label) for key, value in told.items()}
    return {**kept, "error_message": None} if kept.get("group_id") == label else kept


# ---- several brokers


def test_each_share_group_is_listed_and_served_by_one_broker(share_endpoint: EndpointsOfSession) -> None:
    endpoint = share_endpoint(KPROXY_THREE_BROKERS)
    assert endpoint.kproxy is not None
    groups = Groups(endpoint)
    ports = endpoint.kproxy.broker_addresses.values()

    listed: list[list[str]] = []
    codes: list[int] = []
    for address in ports:
        with RawConnection(address) as connection:
            asked = ListGroupsRequest(types_filter=["share"])
            answer = connection.ask(ApiKey.LIST_GROUPS, 5, asked, Message)
            listed.append([group.group_id for group in answer.groups])  # type: ignore[attr-defined]  # a response
            described = connection.ask(
                ApiKey.SHARE_GROUP_DESCRIBE,
                1,
                ShareGroupDescribeRequest([groups.names["busy"]]),
                ShareGroupDescribeResponse,
            )
            codes.append(described.groups[0].error_code)

    not_here = ErrorCode.NOT_COORDINATOR
    for label in ("busy", "left"):
        assert sum(groups.names[label] in names for names in listed) == 1
    assert sorted(codes) == sorted([ErrorCode.NONE, *[not_here] * (len(ports) - 1)])
    assert [groups.names["busy"] in names for names in listed] == [code == ErrorCode.NONE for code in codes]
