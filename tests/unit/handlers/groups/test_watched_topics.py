"""Which topics are looked at: those that share groups are about."""

import asyncio
import gc
import tracemalloc

import pytest

from kproxy.handlers.groups import watched_topics
from kproxy.handlers.groups.topic_deletions import CONFIRMATION_MS
from kproxy.handlers.groups.watched_topics import MOST_MISSING, WantedNames
from kproxy.share.share_group import ShareGroup
from tests.worlds.lost_slots import lose_groups
from tests.worlds.share_group_world import ORDERS, PAYMENTS, ShareGroupWorld

NONE_WANTED = WantedNames(frozenset(), ())
NAME_HOLDERS = (
    "test_watched_topics.py",
    "share_group.py",
    "group_topics.py",
    "watched_topics.py",
    "subscriptions.py",
)
"""Where the names of subscriptions, and sets of them, are made."""


async def left_after_turns(world: ShareGroupWorld) -> list[int]:
    """Look at what changed, and return how many groups were left to look at after each turn that left fewer."""
    changed = world.groups.coordinator.known.changed
    counts = [len(changed)]
    async with asyncio.TaskGroup() as tasks:
        looking = tasks.create_task(world.groups.watched_topics.names())
        while not looking.done():
            await asyncio.sleep(0)
            if len(changed) != counts[-1]:
                counts.append(len(changed))
    return counts[1:]


async def test_without_share_groups_there_are_none() -> None:
    assert await ShareGroupWorld().groups.watched_topics.names() == frozenset()


async def test_topics_that_members_subscribe_to_are_watched_whether_they_exist_or_not() -> None:
    # Given
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders", "to come"])
    world.metadata.create_topic("payments", PAYMENTS)

    # When
    await world.member("bob", group_id="h").heartbeat(0, ["payments"])

    # Then
    assert await world.groups.watched_topics.names() == {"orders", "to come", "payments"}


async def test_topics_with_durable_state_are_watched_although_nobody_subscribes() -> None:
    # Given
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders", "to come"])

    # When
    await world.member().heartbeat(-1)

    # Then
    assert await world.groups.watched_topics.names() == {"orders"}


async def test_topics_that_no_group_is_about_any_more_are_not_watched() -> None:
    # Given
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders"])
    await world.member().heartbeat(-1)
    before = await world.groups.watched_topics.names()
    world.metadata.delete_topic(ORDERS)
    await world.groups.tend_topics()
    world.clock.advance(CONFIRMATION_MS)

    # When
    await world.groups.tend_topics()

    # Then
    assert before == {"orders"}
    assert await world.groups.watched_topics.names() == frozenset()


async def test_it_is_the_same_object_as_long_as_they_are_the_same_topics() -> None:
    """What is made of the names, a request of maybe 100 kB, is made once."""
    # Given
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders"])
    before = await world.groups.watched_topics.names()

    # When
    await world.member("bob").heartbeat(0, ["orders"])
    await world.member("carol", group_id="h").heartbeat(0, ["orders"])

    # Then
    assert await world.groups.watched_topics.names() is before


async def test_groups_that_were_forgotten_and_restored_are_seen_as_they_are() -> None:
    # Given
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders"])
    await world.groups.watched_topics.names()

    # When
    lose_groups(world.groups, world.groups.coordinator.group_ids)
    forgotten = await world.groups.watched_topics.names()
    world.restore_groups()

    # Then
    assert forgotten == frozenset()
    assert await world.groups.watched_topics.names() == {"orders"}


async def test_of_very_many_topics_that_do_not_exist_some_are_looked_for_each_time_and_all_in_turn() -> None:
    """What clients name must not make each look as long as it pleases them."""
    # Given
    world = ShareGroupWorld()
    names = {f"to come {number}" for number in range(2 * MOST_MISSING + 500)}
    await world.member().heartbeat(0, ["orders", *names])

    # When
    wanted = [await world.groups.watched_topics.wanted() or NONE_WANTED for _ in range(3)]

    # Then
    assert wanted[0].lasting == {"orders"}
    assert wanted[0].lasting is wanted[2].lasting
    assert [len(each.in_passing) for each in wanted] == [MOST_MISSING] * 3
    assert names == {name for each in wanted for name in each.in_passing}


async def test_a_topic_of_very_many_is_looked_for_each_time_as_soon_as_its_group_knows_that_it_exists() -> (
    None
):
    # Given
    world = ShareGroupWorld()
    names = [f"to come {number}" for number in range(MOST_MISSING + 1)]
    joined = await world.member().heartbeat(0, ["payments", *names])
    before = await world.groups.watched_topics.wanted() or NONE_WANTED
    world.metadata.create_topic("payments", PAYMENTS)
    world.groups.topics_moved([PAYMENTS])

    # When
    await world.member().heartbeat(joined.member_epoch)
    after = await world.groups.watched_topics.wanted() or NONE_WANTED

    # Then
    assert before.lasting == frozenset()
    assert after.lasting == {"payments"}
    assert set(names).issuperset(after.in_passing)


async def test_names_of_groups_with_very_many_new_ones_are_counted_in_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(watched_topics, "MOST_COUNTED", 3)
    world = ShareGroupWorld()
    for group_id in "abcde":
        await world.member(group_id=group_id).heartbeat(0, [f"one of {group_id}", f"two of {group_id}"])

    # When
    left = await left_after_turns(world)

    # Then
    assert left == [3, 1, 0]
    assert len(await world.groups.watched_topics.names()) == 10


async def test_names_of_very_many_groups_that_are_gone_are_counted_in_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(watched_topics, "MOST_COUNTED", 3)
    world = ShareGroupWorld()
    for group_id in "abcde":
        await world.member(group_id=group_id).heartbeat(0, [f"one of {group_id}", f"two of {group_id}"])
        await world.groups.watched_topics.names()
    lose_groups(world.groups, ["a", "b", "c", "d"])

    # When
    left = await left_after_turns(world)

    # Then
    assert left == [2, 0]
    assert await world.groups.watched_topics.names() == {"one of e", "two of e"}


async def test_groups_that_did_not_change_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be a hundred thousand, and the look comes every second."""
    # Given
    world = ShareGroupWorld()
    for group_id in "abcde":
        await world.member(group_id=group_id).heartbeat(0, [f"of {group_id}"])
    await world.groups.watched_topics.names()
    looked_at: list[str] = []
    plain = watched_topics._names_of

    def names_of(group: ShareGroup) -> object:
        looked_at.append(group.group_id)
        return plain(group)

    monkeypatch.setattr(watched_topics, "_names_of", names_of)

    # When
    await world.member("bob", group_id="c").heartbeat(0, ["of bob"])
    names = await world.groups.watched_topics.names()
    again = await world.groups.watched_topics.names()

    # Then
    assert looked_at == ["c"]
    assert names is again
    assert names == {*(f"of {group_id}" for group_id in "abcde"), "of bob"}


async def test_topics_of_all_of_very_many_restored_groups_are_watched_at_the_next_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A group whose topic is not watched hears of no new partition, whoever tells of it."""
    # Given
    monkeypatch.setattr(watched_topics, "MOST_LOOKED_AT", 2)
    world = ShareGroupWorld()
    for group_id in "abcdefg":
        await world.member(group_id=group_id).heartbeat(0, [f"of {group_id}"])
    await world.groups.watched_topics.names()
    world.restart()

    # When
    wanted = await world.groups.watched_topics.wanted()

    # Then
    assert wanted == WantedNames(frozenset(f"of {group_id}" for group_id in "abcdefg"), ())


async def test_very_many_groups_that_changed_are_looked_at_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    monkeypatch.setattr(watched_topics, "MOST_LOOKED_AT", 2)
    world = ShareGroupWorld()
    for group_id in "abcde":
        await world.member(group_id=group_id).heartbeat(0, [f"of {group_id}"])

    # When
    left = await left_after_turns(world)

    # Then
    assert left == [3, 1, 0]


async def test_a_look_ends_although_groups_change_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that change meanwhile are looked at the next time."""
    # Given
    monkeypatch.setattr(watched_topics, "MOST_LOOKED_AT", 1)
    world = ShareGroupWorld()
    for group_id in "abc":
        await world.member(group_id=group_id).heartbeat(0, [f"of {group_id}"])
    changed = world.groups.coordinator.known.changed

    async def change_them() -> None:
        while True:
            changed.update(dict.fromkeys(world.groups.coordinator.group_ids))
            await asyncio.sleep(0)

    # When
    async with asyncio.TaskGroup() as tasks:
        changing = tasks.create_task(change_them())
        names = await world.groups.watched_topics.names()
        changing.cancel()

    # Then
    assert names == {"of a", "of b", "of c"}
    assert changed


async def test_two_looks_at_the_same_time_share_what_there_is_to_look_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(watched_topics, "MOST_LOOKED_AT", 1)
    world = ShareGroupWorld()
    for group_id in "abc":
        await world.member(group_id=group_id).heartbeat(0, [f"of {group_id}"])
    topics = world.groups.watched_topics

    # When
    both = await asyncio.gather(topics.names(), topics.names())

    # Then
    assert both[0] | both[1] == {"of a", "of b", "of c"}


async def test_nothing_is_wanted_when_no_group_is_about_any_topic() -> None:
    # Given
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["to come"])
    one = await world.groups.watched_topics.wanted()

    # When
    await world.member().heartbeat(-1)

    # Then
    assert one == WantedNames(frozenset(["to come"]), ())
    assert await world.groups.watched_topics.wanted() is None


async def test_a_topic_is_watched_as_long_as_one_of_its_groups_is_there() -> None:
    # Given
    world = ShareGroupWorld()
    groups = [world.member(group_id=group_id) for group_id in ("g", "h")]
    for member in groups:
        await member.heartbeat(0, ["to come", f"of {member.group_id}"])
    both = await world.groups.watched_topics.names()

    # When
    await groups[0].heartbeat(-1)
    of_one = await world.groups.watched_topics.names()
    lose_groups(world.groups, ["h"])

    # Then
    assert both == {"to come", "of g", "of h"}
    assert of_one == {"to come", "of h"}
    assert await world.groups.watched_topics.names() == frozenset()


async def test_twenty_groups_of_the_same_thousand_topics_hold_their_names_once() -> None:
    # Given
    world = ShareGroupWorld()

    def names() -> list[str]:
        return [f"the-topic-with-the-number-{number:05}" for number in range(1_000)]

    await world.member(group_id="first").heartbeat(0, names())
    await world.groups.watched_topics.names()
    tracemalloc.start(1)

    # When
    for number in range(20):
        await world.member(group_id=f"group-{number}").heartbeat(0, names())
    await world.groups.watched_topics.names()
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
