"""Whose port a group's requests belong on: that of the broker that leads its partition of the offsets topic."""

from collections.abc import Mapping, Sequence
from typing import Final

import pytest

from kproxy.errors import CoordinatorNotAvailable, GroupIdNotFound, NotCoordinator
from kproxy.handlers.groups.group_coordinators import MOST_AT_ONCE, OFFSETS_TOPIC, GroupCoordinators
from kproxy.handlers.ports import PartitionLeader
from kproxy.share.identifiers import BOOTSTRAP_NODE_ID, GroupId, TopicId
from tests.in_memory.in_memory_cluster_metadata import InMemoryClusterMetadata
from tests.in_memory.unchecked_group_namespace import UncheckedGroupNamespace

OFFSETS: Final = TopicId(b"topic-id-offsets")
GROUPS: Final = [GroupId("a"), GroupId("b"), GroupId("c")]
"""By Java's hash of one letter, 97, 98 and 99, they are in partitions 1, 0 and 1 of two."""


class Cluster:
    """Brokers 1 and 2 lead partitions 0 and 1 of the offsets topic."""

    def __init__(self) -> None:
        self.metadata = InMemoryClusterMetadata((1, 2))
        self.metadata.create_topic(OFFSETS_TOPIC, OFFSETS, partition_count=2)
        self.namespace = UncheckedGroupNamespace()
        self.coordinators = GroupCoordinators(self.metadata, self.namespace)

    async def coordinated_at(self, *node_ids: int) -> list[Sequence[GroupId]]:
        return [list(await self.coordinators.coordinated_at(GROUPS, node_id)) for node_id in node_ids]


@pytest.mark.parametrize(("group_id", "node_id"), [("a", 2), ("b", 1), ("a", BOOTSTRAP_NODE_ID)])
async def test_a_request_on_the_coordinators_port_or_the_bootstrap_port_costs_no_question(
    group_id: str, node_id: int
) -> None:
    cluster = Cluster()

    await cluster.coordinators.require(group_id, node_id)

    assert cluster.namespace.sought == []


async def test_a_request_on_another_port_is_told_who_coordinates_the_group() -> None:
    cluster = Cluster()
    cluster.namespace.coordinator_id = 2

    with pytest.raises(NotCoordinator, match="node 2 coordinates group 'a'"):
        await cluster.coordinators.require("a", 1)


async def test_the_word_of_the_cluster_counts_more_than_what_was_computed() -> None:
    cluster = Cluster()
    cluster.namespace.coordinator_id = 1

    await cluster.coordinators.require("a", 1)

    assert cluster.namespace.sought == ["a"]


async def test_many_groups_cost_one_question() -> None:
    cluster = Cluster()
    cluster.namespace.coordinator_id = 2

    elsewhere = await cluster.coordinators.elsewhere(GROUPS, 1)

    assert elsewhere == {"a": 2, "c": 2}
    assert cluster.namespace.sought == ["a", "c"]


async def test_what_the_cluster_does_not_tell_is_as_its_metadata_say() -> None:
    """A broker that takes one group at a time tells of the first one only."""

    class OldBrokers(UncheckedGroupNamespace):
        async def coordinators_of(self, group_ids: Sequence[str]) -> Mapping[str, int]:
            return {group_ids[0]: 3}

    cluster = Cluster()

    elsewhere = await GroupCoordinators(cluster.metadata, OldBrokers()).elsewhere(GROUPS, 1)

    assert elsewhere == {"a": 3, "c": 2}


async def test_a_group_is_served_where_it_is_asked_for_while_nobody_says_who_coordinates_it() -> None:
    silent, leaderless, empty, away = Cluster(), Cluster(), Cluster(), Cluster()
    leaderless.metadata.move_leader(OFFSETS, 1, PartitionLeader(-1, 1))
    empty.metadata.delete_topic(OFFSETS)
    away.metadata.is_unavailable = True

    for cluster in (silent, leaderless, empty, away):
        await cluster.coordinators.require("a", 1)

    assert [len(cluster.namespace.sought) for cluster in (silent, leaderless, empty, away)] == [1, 0, 0, 0]


async def test_each_broker_lists_its_own_groups_and_the_bootstrap_port_all_of_them() -> None:
    cluster = Cluster()

    found = await cluster.coordinated_at(1, 2, 3, BOOTSTRAP_NODE_ID)

    assert found == [["b"], ["a", "c"], [], GROUPS]


async def test_who_lists_groups_goes_by_the_leaders_of_this_moment() -> None:
    cluster = Cluster()

    await cluster.coordinated_at(1)

    assert cluster.metadata.confirmed == [(OFFSETS,)]


async def test_groups_of_a_coordinator_that_is_away_are_listed_by_nobody() -> None:
    cluster = Cluster()
    cluster.metadata.move_leader(OFFSETS, 1, PartitionLeader(-1, 1))

    assert await cluster.coordinated_at(1, 2) == [["b"], []]


async def test_all_groups_are_listed_where_nobody_can_say_whose_they_are() -> None:
    empty, away = Cluster(), Cluster()
    empty.metadata.delete_topic(OFFSETS)
    away.metadata.is_unavailable = True

    assert [*await empty.coordinated_at(1), *await away.coordinated_at(2)] == [GROUPS, GROUPS]


async def test_others_have_a_turn_while_very_many_groups_are_looked_through() -> None:
    cluster = Cluster()
    many = [GroupId(f"g{number}") for number in range(2 * MOST_AT_ONCE)]

    listing = cluster.coordinators.coordinated_at(many, 1).__await__()
    turns = sum(1 for _ in iter(lambda: next(listing, "over"), "over"))

    assert turns == 2


async def test_an_id_is_free_unless_a_group_of_another_type_has_it() -> None:
    cluster = Cluster()
    cluster.namespace.foreign_ids = {"a"}

    await cluster.coordinators.require_free("b")

    with pytest.raises(GroupIdNotFound, match=r"^Group a is not a share group\.$"):
        await cluster.coordinators.require_free("a")


async def test_no_id_is_free_while_the_cluster_says_nothing() -> None:
    cluster = Cluster()
    cluster.namespace.foreign_ids = None

    with pytest.raises(CoordinatorNotAvailable, match="the groups of the cluster cannot be asked"):
        await cluster.coordinators.require_free("a")


async def test_an_id_that_no_share_group_has_may_be_that_of_a_group_of_another_type() -> None:
    cluster = Cluster()
    cluster.namespace.foreign_ids = {"a"}

    refusals = await cluster.coordinators.not_found(GROUPS)

    assert [str(refusal) for refusal in refusals.values()] == [
        "Group a is not a share group.",
        "Group b not found.",
        "Group c not found.",
    ]


async def test_a_cluster_that_says_nothing_of_one_id_is_not_asked_about_the_next() -> None:
    cluster = Cluster()
    cluster.namespace.foreign_ids = None

    refusals = await cluster.coordinators.not_found(GROUPS)

    assert [str(refusal) for refusal in refusals.values()] == [
        f"Group {group_id} not found." for group_id in GROUPS
    ]
    assert cluster.namespace.looked_up == ["a"]
