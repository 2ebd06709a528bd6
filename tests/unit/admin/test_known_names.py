"""A name that nobody knows is told from one of which there is nothing to show."""

from collections.abc import Mapping

import pytest

from kproxy.admin.known_names import KnownNames
from kproxy.admin.queries import NothingThere
from kproxy.share.identifiers import (
    AssignmentEpoch,
    GroupEpoch,
    GroupId,
    MemberEpoch,
    MemberId,
    SharePartitionKey,
    TopicId,
    TopicIdPartition,
)
from kproxy.share.share_group_image import MemberImage, ShareGroupImage, StatePartitions
from tests.in_memory.inspectable import ORDERS, ORDERS_TEXT, PAYMENTS, Inspectable
from tests.worlds.waiting import turns_during

WORKERS = ShareGroupImage(
    group_id=GroupId("workers"),
    group_epoch=GroupEpoch(2),
    assignment_epoch=AssignmentEpoch(2),
    members={
        MemberId("alice"): MemberImage(
            rack_id=None,
            client_id="client-1",
            client_host="/10.0.0.7",
            subscribed_topic_names=frozenset({"orders", "payments"}),
            member_epoch=MemberEpoch(2),
            previous_member_epoch=MemberEpoch(1),
            assigned=frozenset({TopicIdPartition(ORDERS, 0)}),
        )
    },
    target={},
    initializing={},
    initialized={ORDERS: StatePartitions("orders", frozenset({0, 1}))},
    deleting={PAYMENTS: StatePartitions("payments", frozenset({0}))},
)
"""Alice has subscribed to a topic of that name that is made anew."""


def must_not_be_made(image: ShareGroupImage) -> None:
    raise AssertionError(f"{image.group_id} was made to be looked at")


def a_group_with_a_member() -> Inspectable:
    inspectable = Inspectable()
    inspectable.join("alice")
    return inspectable


def known(inspectable: Inspectable) -> KnownNames:
    return KnownNames(
        inspectable.coordinator,
        inspectable.sessions,
        inspectable.live,
        inspectable.topic_names.get,
        inspectable.partition_counts.get,
    )


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"group": "workers"},
        {"member": "alice"},
        {"group": "workers", "member": "alice"},
        {"topic": "orders"},
        {"topic": ORDERS_TEXT},
        {"group": "workers", "topic": "orders"},
        {"group": "workers", "topic": "orders", "partition": "1"},
        {"topic": ORDERS_TEXT, "partition": "0"},
        {"partition": "1"},
    ],
)
async def test_what_a_group_has_is_known(wanted: Mapping[str, str]) -> None:
    await known(a_group_with_a_member()).require(wanted)


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        (
            {"group": "wrokers"},
            "there is no share group 'wrokers': kproxy groups list (/api/v1/groups) shows those that are there",
        ),
        (
            {"member": "bob"},
            (
                "there is no member 'bob' in any share group: "
                "kproxy groups describe GROUP --members shows those that are there"
            ),
        ),
        (
            {"group": "workers", "member": "bob"},
            (
                "there is no member 'bob' in share group 'workers': "
                "kproxy groups describe workers --members shows those that are there"
            ),
        ),
        ({"topic": "oders"}, "no share group has a topic 'oders'; there is orders"),
        (
            {"group": "workers", "topic": "oders"},
            "share group 'workers' does not have a topic 'oders'; there is orders",
        ),
        (
            {"group": "workers", "topic": "orders", "partition": "7"},
            "there is no partition 7: topic 'orders' has 2 partitions, numbered from 0",
        ),
        (
            {"topic": ORDERS_TEXT, "partition": "2"},
            "there is no partition 2: topic 'orders' has 2 partitions, numbered from 0",
        ),
        (
            {"group": "workers", "partition": "2"},
            "there is no partition 2: topic 'orders' has 2 partitions, numbered from 0",
        ),
        ({"partition": "7"}, "there is no partition 7: topic 'orders' has 2 partitions, numbered from 0"),
    ],
)
async def test_a_typing_error_is_told_with_what_there_is(wanted: Mapping[str, str], complaint: str) -> None:
    # When
    with pytest.raises(NothingThere) as refusal:
        await known(a_group_with_a_member()).require(wanted)

    # Then
    assert str(refusal.value) == complaint
    assert refusal.value.status == 404


async def test_a_member_of_another_group_is_not_known_in_this_one() -> None:
    # Given
    inspectable = a_group_with_a_member()
    inspectable.join("carol", group_id="auditors")

    # When
    with pytest.raises(NothingThere, match="no member 'carol' in share group 'workers'"):
        await known(inspectable).require({"group": "workers", "member": "carol"})


async def test_who_has_a_share_session_is_known_without_being_a_member() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.open_session("dave", (ORDERS, 0), group_id="leftovers")

    # Then
    await known(inspectable).require({"group": "leftovers", "member": "dave"})


async def test_a_live_share_partition_makes_its_group_and_its_topic_known() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.share_partition(group_id="leftovers", topic_id=PAYMENTS)

    # Then
    await known(inspectable).require({"group": "leftovers", "topic": "dG9waWMtaWQtcGF5bWVudA"})


async def test_of_many_topics_the_first_ten_are_named() -> None:
    # Given
    inspectable = Inspectable()
    topics = {type(ORDERS)(bytes([number]) * 16): f"topic-{number:02}" for number in range(12)}
    inspectable.topic_names = topics
    for topic_id in topics:
        inspectable.share_partition(topic_id=topic_id)

    # When
    with pytest.raises(NothingThere) as refusal:
        await known(inspectable).require({"topic": "topic"})

    # Then
    named = ", ".join(f"topic-{number:02}" for number in range(10))
    assert str(refusal.value) == f"no share group has a topic 'topic'; there are {named} and 2 more"


async def test_a_topic_with_one_partition_has_only_number_0() -> None:
    # Given
    inspectable = a_group_with_a_member()
    inspectable.partition_counts = {ORDERS: 1}

    # When
    with pytest.raises(NothingThere) as refusal:
        await known(inspectable).require({"topic": "orders", "partition": "1"})

    # Then
    assert str(refusal.value) == "there is no partition 1: topic 'orders' has 1 partition, numbered from 0"


async def test_of_several_topics_it_is_enough_that_one_has_the_partition() -> None:
    # Given
    inspectable = a_group_with_a_member()
    inspectable.topic_names = {ORDERS: "orders", PAYMENTS: "payments"}
    inspectable.partition_counts = {ORDERS: 2, PAYMENTS: 8}
    inspectable.share_partition(topic_id=PAYMENTS, partition=0)

    # When
    await known(inspectable).require({"group": "workers", "partition": "7"})

    # Then
    with pytest.raises(
        NothingThere, match="there is no partition 8: the largest topic, 'payments', has 8 part"
    ):
        await known(inspectable).require({"group": "workers", "partition": "8"})


@pytest.mark.parametrize("counts", [{}, {ORDERS: 2}])
async def test_a_partition_that_is_live_is_known_whatever_the_cluster_said_last(
    counts: Mapping[TopicId, int],
) -> None:
    # Given
    inspectable = Inspectable()
    inspectable.partition_counts = counts
    inspectable.share_partition(partition=7)

    # Then
    await known(inspectable).require({"group": "workers", "topic": "orders", "partition": "7"})


async def test_of_a_topic_whose_size_is_not_known_no_partition_is_denied() -> None:
    # Given
    inspectable = a_group_with_a_member()
    inspectable.partition_counts = {}

    # Then
    await known(inspectable).require({"group": "workers", "topic": "orders", "partition": "7"})


async def test_without_any_topic_a_partition_alone_is_not_denied() -> None:
    await known(Inspectable()).require({"partition": "7"})


@pytest.mark.parametrize(
    "wanted",
    [
        {"member": "alice"},
        {"group": "workers", "member": "alice"},
        {"topic": "orders"},
        {"topic": ORDERS_TEXT, "partition": "1"},
        {"group": "workers", "topic": "orders"},
        {"topic": "payments"},
    ],
)
async def test_what_a_group_has_is_known_before_the_group_is_made_of_its_picture(
    wanted: Mapping[str, str],
) -> None:
    # Given
    inspectable = Inspectable()
    inspectable.coordinator.known.restore({WORKERS.group_id: WORKERS}, must_not_be_made, place=None)

    # When
    await known(inspectable).require(wanted)

    # Then
    with pytest.raises(NothingThere, match="there is no member 'bob' in any share group"):
        await known(inspectable).require({"member": "bob"})
    with pytest.raises(NothingThere, match="no share group has a topic 'oders'; there is orders"):
        await known(inspectable).require({"topic": "oders"})


@pytest.mark.parametrize(
    "wanted",
    [
        {"topic": "orders"},
        {"topic": "orders", "partition": "1"},
        {"partition": "1"},
        {"member": "last"},
    ],
)
async def test_others_have_turns_while_very_many_groups_are_gone_through(wanted: Mapping[str, str]) -> None:
    # Given
    inspectable = Inspectable()
    for number in range(3_000):
        inspectable.join("first", group_id=f"group-{number}")
    inspectable.join("last", group_id="last")

    # When
    turn_count = await turns_during(known(inspectable).require(wanted))

    # Then
    assert turn_count >= 3


async def test_others_have_turns_while_very_many_live_share_partitions_are_gone_through() -> None:
    # Given
    inspectable = Inspectable()
    for number in range(3_000):
        inspectable.live[SharePartitionKey(GroupId("leftovers"), ORDERS, number)] = None
    inspectable.share_partition(group_id="last")

    # When
    turn_count = await turns_during(known(inspectable).require({"group": "last"}))

    # Then
    assert turn_count >= 3


async def test_where_there_is_no_topic_at_all_that_is_said() -> None:
    with pytest.raises(NothingThere, match="no share group has a topic 'orders'; there is none so far"):
        await known(Inspectable()).require({"topic": "orders"})
