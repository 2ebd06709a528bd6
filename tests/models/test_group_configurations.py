"""What a group configures takes effect at its next use, on a live group, and for it alone."""

import asyncio

from kproxy.error_codes import ErrorCode
from kproxy.share.identifiers import GroupId
from kproxy.share.limits import GroupLimits
from tests.worlds.share_group_world import (
    ORDERS,
    acknowledge_errors,
    acquired,
    world_with_orders,
)
from tests.worlds.waiting import until_all_wait

RELEASE, RENEW = 2, 4


async def test_members_are_told_the_heartbeat_interval_of_their_group() -> None:
    # Given
    world = await world_with_orders()
    alice, bob = world.member("alice", group_id="g"), world.member("bob", group_id="h")
    before = await alice.heartbeat(0, ["orders"])

    # When
    world.configure("share.heartbeat.interval.ms", "7000")
    after = await alice.heartbeat(before.member_epoch)
    of_another_group = await bob.heartbeat(0, ["orders"])

    # Then
    assert [answer.heartbeat_interval_ms for answer in (before, after, of_another_group)] == [
        5_000,
        7_000,
        5_000,
    ]


async def test_a_member_is_lost_after_the_session_timeout_of_its_group() -> None:
    # Given
    world = await world_with_orders()
    world.configure("share.session.timeout.ms", "60000")
    alice = world.member()
    await alice.heartbeat(0, ["orders"])
    known = []

    # When
    for _ in range(2):
        world.clock.advance(GroupLimits().session_timeout_ms)
        await world.expire()
        group = world.groups.coordinator.find(GroupId("g"))
        assert group is not None
        known.append(len(group.members))

    # Then
    assert known == [1, 0]


async def test_a_lower_delivery_limit_gives_what_reached_it_one_more_delivery() -> None:
    """Case 59: the limit goes from 5 to 3 while the count is 4."""
    # Given
    world = await world_with_orders()
    world.produce(1)
    alice = world.member()
    await alice.open()
    counts = list[int]()
    for _ in range(4):
        counts += [count for _, _, count in acquired(await alice.fetch())]
        await alice.acknowledge({(ORDERS, 0): [(0, 0, [RELEASE])]})

    # When
    world.configure("share.delivery.count.limit", "3")
    last = acquired(await alice.fetch())
    await alice.acknowledge({(ORDERS, 0): [(0, 0, [RELEASE])]})

    # Then
    assert (counts, last) == ([1, 2, 3, 4], [(0, 0, 5)])
    assert acquired(await alice.fetch()) == []


async def test_a_group_that_allows_no_renewal_refuses_it() -> None:
    """Case 55."""
    # Given
    world = await world_with_orders()
    world.configure("share.renew.acknowledge.enable", "false")
    world.produce(1)
    alice = world.member()
    await alice.open()
    await alice.fetch()

    # When
    answer = await alice.acknowledge({(ORDERS, 0): [(0, 0, [RENEW])]}, is_renew_ack=True)

    # Then
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.INVALID_RECORD_STATE}


async def test_a_fetch_that_waits_for_a_full_window_goes_on_when_the_group_lets_more_be_in_flight() -> None:
    # Given
    world = await world_with_orders(passes_time=False)
    world.configure("share.partition.max.record.locks", "100")
    world.produce(100)
    world.produce(1)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open(max_records=100)
    await bob.open()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(bob.fetch(max_wait_ms=60_000))
        await until_all_wait()
        world.configure("share.partition.max.record.locks", "200")

    # Then
    assert acquired(fetch.result()) == [(100, 100, 1)]
