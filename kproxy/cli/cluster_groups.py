"""Share groups of any cluster as the admin port of a kproxy answers them: the same names, and other fields."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final

from kproxy.cli.described_groups import DescribedGroups
from kproxy.cli.group_source import Cluster
from kproxy.clients.admin_port import Item
from kproxy.clients.failures import NotThere
from kproxy.notation import camel_case

if TYPE_CHECKING:
    from kproxy.clients.cluster.cluster_client import ClusterClient

_API_VERSION: Final = "kproxy/v1"


def answer(kind: str, items: Sequence[Item], **facts: object) -> Mapping[str, Any]:
    """Return `items` as one answer, with what else is so."""
    return {"apiVersion": _API_VERSION, "kind": kind, **facts, "items": items}


def item_of(value: Any, **facts: object) -> dict[str, Any]:
    """Return a dataclass as an item, its fields in camelCase, with what else is so of it in front."""
    return {**facts, **{camel_case(each.name): _plain(getattr(value, each.name)) for each in fields(value)}}


def listed_groups(cluster: Cluster, states: Sequence[str]) -> Mapping[str, Any]:
    """Return the share groups in one of these states, or in any, by group id. Raises ClientFailed."""
    from kproxy.clients.cluster.share_groups import list_share_groups

    with cluster.connected() as client:
        return answer("ShareGroups", [item_of(group) for group in list_share_groups(client, states)])


def groups_of_cluster(
    cluster: Cluster, group_ids: Sequence[str] | None, *, has_offsets: bool
) -> DescribedGroups:
    """Describe each of `group_ids`, all groups for None; those that ended since they were listed are left out.

    Raises ClientFailed; NotThere, when there is none of `group_ids`.
    """
    from kproxy.clients.cluster.share_groups import list_share_groups

    items: list[Item] = []
    missing: list[NotThere] = []
    with cluster.connected() as client:
        are_all = group_ids is None
        wanted = [group.group_id for group in list_share_groups(client)] if group_ids is None else group_ids
        for group_id in wanted:
            try:
                items.append(_described(client, group_id, has_offsets=has_offsets))
            except NotThere as gone:
                missing.append(gone)
    if missing and not items and not are_all:
        raise NotThere("\n  ".join(map(str, missing)))
    return DescribedGroups(answer("ShareGroup", items), [] if are_all else missing)


def _described(client: "ClusterClient", group_id: str, *, has_offsets: bool) -> Item:
    from kproxy.clients.cluster.share_groups import describe_share_group
    from kproxy.clients.cluster.share_offsets import describe_offsets

    group = describe_share_group(client, group_id)
    item = item_of(group, memberCount=len(group.members))
    if has_offsets:
        item["sharePartitions"] = [item_of(offset) for offset in describe_offsets(client, group_id)]
    return item


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return item_of(value)
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
