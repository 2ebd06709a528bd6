"""What the state log alone tells of share groups: members, and records that are not all done with."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import click

from kproxy.cli.backing_cluster import BackingCluster
from kproxy.cli.exit_codes import CommandFailed, ExitCode
from kproxy.cli.log_reading import Unread, all_of, opened
from kproxy.clients.nearest_names import nearest_names
from kproxy.notation import iso_time
from kproxy.share.limits import ShareLimits
from kproxy.wording import counted

if TYPE_CHECKING:
    from kproxy.admin.share_views import InFlightView
    from kproxy.share.identifiers import GroupId, SharePartitionKey
    from kproxy.share.share_group_image import ShareGroupImage
    from kproxy.statelog.durable_state import DurableShareState
    from kproxy.statelog.state_log_fold import Outcome

Answer = Mapping[str, Any]
"""An answer in the form of those of the admin port."""

_DELIVERY_LIMIT: Final = "share.delivery.count.limit"
_MORE_THAN_HERE: Final = "start a kproxy and ask that, or kproxy replay state-at, which uses Spark"


@dataclass(slots=True)
class DurableGroups:
    """The groups topic, folded: groups, what they have configured, and the names of topics by id."""

    images: "Mapping[GroupId, ShareGroupImage]" = field(default_factory=dict)
    configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    topic_names: Mapping[str, str] = field(default_factory=dict)
    recovery_points: Mapping[int, int] = field(default_factory=dict)
    """Where each partition of the state topic has to be read from, for all states to be known."""
    unusable_count: int = 0

    def limits(self, group_id: str, otherwise: int) -> ShareLimits:
        """Return how often records of a group are delivered: as it is configured, or `otherwise`."""
        said = self.configs.get(group_id, {}).get(_DELIVERY_LIMIT, "")
        return ShareLimits(delivery_count_limit=int(said) if said.isdecimal() else otherwise)


def durable_groups(cluster: BackingCluster, group: str | None = None) -> DurableGroups:
    """Read the groups topic: all of it, unless `group` is all that is asked about. Raises CommandFailed, ClientFailed.

    Partitions without a leader are in the way only of what needs them.
    """
    from kproxy.clients.history.topic_names import names_of
    from kproxy.statelog.group_log_fold import GroupLogFold

    name = cluster.settings.groups_topic_name
    folds: dict[int, GroupLogFold] = {}
    names: dict[str, str] = {}
    unusable_count = 0
    with opened(cluster, name) as reader:
        for number, record in all_of(reader, name, instead=_MORE_THAN_HERE, unread=_without_others(group)):
            fold = folds.setdefault(number, GroupLogFold(on_corrupt="skip"))
            unusable_count += _is_unusable(fold.replay(record))
            names.update(names_of(record))
    return DurableGroups(
        {group_id: image for fold in folds.values() for group_id, image in fold.images().items()},
        {group_id: values for fold in folds.values() for group_id, values in fold.configs().items()},
        names,
        {number: fold.recovery_point.offset for number, fold in folds.items() if fold.recovery_point},
        unusable_count,
    )


def durable_in_flight(
    cluster: BackingCluster, *, group: str | None, topic: str | None, partition: int | None
) -> Answer:
    """Return the runs of share-partitions as `/api/v1/in-flight` does, as a kproxy would find them that starts now.

    Raises NotThere, CommandFailed and ClientFailed.
    """
    from kproxy.admin.share_views import in_flight_views
    from kproxy.clients.history.selection import Selected
    from kproxy.share.identifiers import topic_id_text
    from kproxy.share.share_partition import SharePartition

    groups = durable_groups(cluster, group)
    states, unusable_count = _durable_states(cluster, groups.recovery_points, group)
    selected = Selected(group, topic, partition, groups.topic_names)
    for group_id in groups.images:
        selected.know_group(group_id)
    usual = cluster.settings.group_share_delivery_count_limit
    items: list[dict[str, object]] = []
    for key, state in sorted(states.items(), key=lambda each: each[0]):
        if not selected.takes_key(key.group_id, topic_id_text(key.topic_id), key.partition):
            continue
        if state.start_offset < 0:
            continue  # nobody has fetched from it
        window = SharePartition(
            key,
            start_offset=state.start_offset,
            state_batches=state.state_batches,
            limits=groups.limits(key.group_id, usual),
        ).view()
        name = groups.topic_names.get(topic_id_text(key.topic_id))
        items += [_unheld(view) for view in in_flight_views(window, name, lambda *_: "", now_ms=0)]
    selected.require_known(cluster.settings.state_topic_name)
    return _answer("InFlightRecords", items, groups.unusable_count + unusable_count)


def durable_members(cluster: BackingCluster, *, group: str | None, member: str | None) -> Answer:
    """Return the members of groups as the log has them. Raises CommandFailed and ClientFailed."""
    groups = durable_groups(cluster, group)
    place = cluster.settings.groups_topic_name
    if group is not None and group not in groups.images:
        near = nearest_names(group, groups.images)
        raise CommandFailed(f"there is no share group {group!r} in {place}; {near}", ExitCode.NOT_FOUND)
    images = [image for group_id, image in sorted(groups.images.items()) if group in (None, group_id)]
    items = [each for image in images for each in _members(image, groups.topic_names)]
    found = [each for each in items if member in (None, each["memberId"])]
    if member is not None and not found:
        near = nearest_names(member, (each["memberId"] for each in items))
        raise CommandFailed(f"there is no member {member!r} in {place}; {near}", ExitCode.NOT_FOUND)
    return _answer("ShareGroupMembers", found, groups.unusable_count)


def _durable_states(
    cluster: BackingCluster, recovery_points: Mapping[int, int], group: str | None
) -> "tuple[Mapping[SharePartitionKey, DurableShareState], int]":
    from kproxy.statelog.state_log_fold import StateLogFold

    name = cluster.settings.state_topic_name
    folds: dict[int, StateLogFold] = {}
    unusable_count = 0
    with opened(cluster, name) as reader:
        for number, record in all_of(
            reader, name, instead=_MORE_THAN_HERE, starts=recovery_points, unread=_without_others(group)
        ):
            fold = folds.setdefault(number, StateLogFold(on_corrupt="skip"))
            unusable_count += _is_unusable(fold.apply(record))
    return {key: state for fold in folds.values() for key, state in fold.states.items()}, unusable_count


def _unheld(run: "InFlightView") -> dict[str, object]:
    """Return a run as the admin port tells of it, but for whether anybody fetches: that is not in the log."""
    from kproxy.admin.views import item

    return {name: value for name, value in item(run).items() if name != "live"}


def _without_others(group: str | None) -> Unread | None:
    """Return what leaves out the partitions of other groups; of all groups the answer is whole, or there is none."""
    return None if group is None else Unread(group)


def _is_unusable(outcome: "Outcome") -> bool:
    from kproxy.statelog.state_log_fold import Outcome

    return outcome is Outcome.SKIPPED_CORRUPT


def _members(image: "ShareGroupImage", names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    from kproxy.share.identifiers import topic_id_text

    for member_id, member in image.members.items():
        partitions: dict[str, list[int]] = {}
        for assigned in sorted(member.assigned):
            partitions.setdefault(topic_id_text(assigned.topic_id), []).append(assigned.partition)
        yield {
            "groupId": image.group_id,
            "memberId": member_id,
            "clientId": member.client_id,
            "clientHost": member.client_host,
            "memberEpoch": member.member_epoch,
            "subscribedTopicNames": sorted(member.subscribed_topic_names),
            "assignment": [
                {"topicId": topic_id, "topicName": names.get(topic_id), "partitions": numbers}
                for topic_id, numbers in partitions.items()
            ],
        }


def _answer(kind: str, items: list[dict[str, Any]], unusable_count: int) -> Answer:
    if unusable_count:
        number = counted(unusable_count, "record")
        click.echo(f"Warning: {number} of the log cannot be used: kproxy log dump shows them", err=True)
    return {
        "apiVersion": "kproxy/v1",
        "kind": kind,
        "asOf": iso_time(time.time_ns() // 1_000_000),
        "source": "state-log",
        "items": items,
    }
