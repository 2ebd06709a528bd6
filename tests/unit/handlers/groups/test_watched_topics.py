"""Which topics are looked at: those that share groups are about."""

from kproxy.handlers.groups.topic_deletions import CONFIRMATION_MS
from tests.worlds.share_group_world import ORDERS, PAYMENTS, ShareGroupWorld


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
