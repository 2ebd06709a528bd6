"""Share groups as wholes: which there are, what they are, and their end.

Source of what is asked before a change: `ShareGroupCommand`, Kafka's own tool.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kproxy.clients.cluster.cluster_client import Broker, ClusterClient
from kproxy.clients.cluster.refusals import only_result, require_success
from kproxy.clients.failures import ClientFailed, NotAllowed, NotThere
from kproxy.share.identifiers import TopicId, topic_id_text
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.delete_groups_response import DeleteGroupsResponse
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListGroupsResponse
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.share_group_describe_response import (
    DescribedGroup,
    Member,
    ShareGroupDescribeResponse,
)

_STATES_WITHOUT_MEMBERS: Final = ("Empty", "Dead")
_SHARE: Final = "share"
_LISTS_TYPES: Final = 5
"""The version of ListGroups from which on it knows types of groups (KIP-848)."""
_PROBED_GROUP: Final = "kproxy-groups-asks-whether-share-groups-are-served"


@dataclass(frozen=True, slots=True)
class ListedShareGroup:
    """A share group in a list; `coordinator` is the broker that listed it."""

    group_id: str
    state: str
    coordinator: Broker


@dataclass(frozen=True, slots=True)
class AssignedTopic:
    """Some partitions of one topic, ascending."""

    topic_id: str
    topic_name: str
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ShareGroupMember:
    """A member, with the fields of ShareGroupDescribe."""

    member_id: str
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    assignment: tuple[AssignedTopic, ...]


@dataclass(frozen=True, slots=True)
class ShareGroupDescription:
    """A share group with its members, by member id."""

    group_id: str
    state: str
    group_epoch: int
    assignment_epoch: int
    assignor_name: str
    coordinator: Broker
    members: tuple[ShareGroupMember, ...]


def list_share_groups(cluster: ClusterClient, states: Sequence[str] = ()) -> list[ListedShareGroup]:
    """Return the share groups of all brokers by group id, in one of these `states`, or in any.

    Raises ClientFailed; also when the cluster does not serve share groups.
    """
    found = cluster.persistently(lambda: _listed_by_all(cluster, states))
    if not found:
        _require_share_groups(cluster)
    for group in found:
        cluster.note_coordinator(group.group_id, group.coordinator)
    return sorted(found, key=lambda group: group.group_id)


def describe_share_group(cluster: ClusterClient, group_id: str) -> ShareGroupDescription:
    """Return what a share group is now. Raises NotThere when there is none, and ClientFailed."""
    return cluster.persistently(lambda: _described(cluster, group_id))


def require_without_members(cluster: ClusterClient, group_id: str) -> None:
    """Return if the offsets of a group may be changed. Raises NotThere when there is none, and ClientFailed."""
    state = describe_share_group(cluster, group_id).state
    if state not in _STATES_WITHOUT_MEMBERS:
        raise ClientFailed(f"Share group {group_id!r} is not empty, but {state}: stop its members first.")


def require_deletable(
    group_ids: Iterable[str], listed: Iterable[ListedShareGroup]
) -> dict[str, ClientFailed | None]:
    """Return what keeps each of the groups from being deleted; None if nothing does.

    Only share groups without members are: DeleteGroups itself deletes groups of every type.
    """
    states = {group.group_id: group.state for group in listed}
    return {group_id: _why_not_deletable(group_id, states.get(group_id)) for group_id in group_ids}


def delete_share_groups(
    cluster: ClusterClient, group_ids: Iterable[str]
) -> Mapping[str, ClientFailed | None]:
    """Delete groups, of which `require_deletable` has found no fault; return what each came to: None if it is gone."""
    return {group_id: _deleted(cluster, group_id) for group_id in group_ids}


def _listed_by_all(cluster: ClusterClient, states: Sequence[str]) -> list[ListedShareGroup]:
    request = ListGroupsRequest(list(states), [_SHARE])
    found: dict[str, ListedShareGroup] = {}
    for broker in cluster.brokers():
        answer = cluster.ask(broker, request, ListGroupsResponse, oldest=_LISTS_TYPES)
        require_success(answer.error_code, f"groups of broker {broker.node_id} cannot be listed")
        for group in answer.groups:
            found[group.group_id] = ListedShareGroup(group.group_id, group.group_state, broker)
    return list(found.values())


def _require_share_groups(cluster: ClusterClient) -> None:
    """Raise ClientFailed when there are no share groups because they are off: ListGroups does not tell (4.1 to 4.3)."""
    try:
        describe_share_group(cluster, _PROBED_GROUP)
    except (NotThere, NotAllowed):
        return


def _described(cluster: ClusterClient, group_id: str) -> ShareGroupDescription:
    coordinator = cluster.coordinator_of(group_id)
    request = ShareGroupDescribeRequest([group_id])
    answer = cluster.ask_coordinator(group_id, request, ShareGroupDescribeResponse)
    asked = f"share group {group_id!r} cannot be described"
    group = only_result(answer.groups, asked)
    require_success(group.error_code, asked, group.error_message)
    return _description(group, coordinator)


def _description(group: DescribedGroup, coordinator: Broker) -> ShareGroupDescription:
    return ShareGroupDescription(
        group_id=group.group_id,
        state=group.group_state,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.assignor_name,
        coordinator=coordinator,
        members=tuple(sorted(map(_member, group.members), key=lambda member: member.member_id)),
    )


def _member(member: Member) -> ShareGroupMember:
    topics = [
        AssignedTopic(
            topic_id_text(TopicId(topic.topic_id)), topic.topic_name, tuple(sorted(topic.partitions))
        )
        for topic in member.assignment.topic_partitions
    ]
    return ShareGroupMember(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(member.subscribed_topic_names),
        assignment=tuple(sorted(topics, key=lambda topic: topic.topic_name)),
    )


def _why_not_deletable(group_id: str, state: str | None) -> ClientFailed | None:
    if state is None:
        return NotThere(f"Group {group_id!r} is not a share group.")
    return None if state == "Empty" else ClientFailed(f"Share group {group_id!r} is not EMPTY, but {state}.")


def _deleted(cluster: ClusterClient, group_id: str) -> ClientFailed | None:
    try:
        cluster.persistently(lambda: _delete(cluster, group_id))
    except ClientFailed as failure:
        return failure
    return None


def _delete(cluster: ClusterClient, group_id: str) -> None:
    answer = cluster.ask_coordinator(
        group_id, DeleteGroupsRequest([group_id]), DeleteGroupsResponse, is_change=True
    )
    asked = f"share group {group_id!r} cannot be deleted"
    result = only_result(answer.results, asked)
    require_success(result.error_code, asked, result.error_message)
