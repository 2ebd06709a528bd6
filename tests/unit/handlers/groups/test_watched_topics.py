"""Which topics are looked at: those that share groups are about."""

import gc
import tracemalloc

from kproxy.handlers.groups.topic_deletions import CONFIRMATION_MS
from tests.worlds.share_group_world import ORDERS, PAYMENTS, ShareGroupWorld

NAME_HOLDERS = (
    "test_watched_topics.py",
    "share_group.py",
    "group_topics.py",
    "watched_topics.py",
    "subscriptions.py",
)
"""Where the names of subscriptions, and sets of them, are made."""


async def test_without_share_groups_there_are_none() -> None:
    assert ShareGroupWorld().groups.watched_topics.names() == frozenset()


async def test_topics_that_members_subscribe_to_are_watched_whether_they_exist_or_not() -> None:
    # Given
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders", "to come"])
    world.metadata.create_topic("payments", PAYMENTS)

    # When
    await world.member("bob", group_id="h").heartbeat(0, ["payments"])

    # Then
    assert world.groups.watched_topics.names() == {"orders", "to come", "payments"}


async def test_topics_with_durable_state_are_watched_although_nobody_subscribes() -> None:
    # Given
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders", "to come"])

    # When
    await world.member().heartbeat(-1)

    # Then
    assert world.groups.watched_topics.names() == {"orders"}


async def test_topics_that_no_group_is_about_any_more_are_not_watched() -> None:
    # Given
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders"])
    await world.member().heartbeat(-1)
    before = world.groups.watched_topics.names()
    world.metadata.delete_topic(ORDERS)
    await world.groups.tend_topics()
    world.clock.advance(CONFIRMATION_MS)

    # When
    await world.groups.tend_topics()

    # Then
    assert before == {"orders"}
    assert world.groups.watched_topics.names() == frozenset()


async def test_it_is_the_same_object_as_long_as_they_are_the_same_topics() -> None:
    """What is made of the names, a request of maybe 100 kB, is made once."""
    # Given
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders"])
    before = world.groups.watched_topics.names()

    # When
    await world.member("bob").heartbeat(0, ["orders"])
    await world.member("carol", group_id="h").heartbeat(0, ["orders"])

    # Then
    assert world.groups.watched_topics.names() is before


async def test_groups_that_were_forgotten_and_restored_are_seen_as_they_are() -> None:
    # Given
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders"])
    world.groups.watched_topics.names()

    # When
    world.groups.forget_groups(world.groups.coordinator.group_ids)
    forgotten = world.groups.watched_topics.names()
    world.restore_groups()

    # Then
    assert forgotten == frozenset()
    assert world.groups.watched_topics.names() == {"orders"}


async def test_a_topic_is_watched_as_long_as_one_of_its_groups_is_there() -> None:
    # Given
    world = ShareGroupWorld()
    groups = [world.member(group_id=group_id) for group_id in ("g", "h")]
    for member in groups:
        await member.heartbeat(0, ["to come", f"of {member.group_id}"])
    both = world.groups.watched_topics.names()

    # When
    await groups[0].heartbeat(-1)
    of_one = world.groups.watched_topics.names()
    world.groups.forget_groups(["h"])

    # Then
    assert both == {"to come", "of g", "of h"}
    assert of_one == {"to come", "of h"}
    assert world.groups.watched_topics.names() == frozenset()


async def test_twenty_groups_of_the_same_thousand_topics_hold_their_names_once() -> None:
    # Given
    world = ShareGroupWorld()

    def names() -> list[str]:
        return [f"the-topic-with-the-number-{number:05}" for number in range(1_000)]

    await world.member(group_id="first").heartbeat(0, names())
    world.groups.watched_topics.names()
    tracemalloc.start(1)

    # When
    for number in range(20):
        await world.member(group_id=f"group-{number}").heartbeat(0, names())
    world.groups.watched_topics.names()
    world.metadata.asked_names.clear()
    gc.collect()
    snapshot = tracemalloc.take_snapshot()
    tracemalloc.stop()

    # Then
    subscriptions = [
        tracemalloc.Filter(inclusive=True, filename_pattern=f"*/{each}") for each in NAME_HOLDERS
    ]
    held_bytes = sum(trace.size for trace in snapshot.filter_traces(subscriptions).traces)
    assert held_bytes < 20 * 1_000 * 60  # names and a set of them took 200 bytes a name in each group
