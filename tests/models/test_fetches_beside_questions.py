"""Fetches of members whose own broker has to be asked what they may do, and says nothing for a while."""

import asyncio

from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.security.acls import AclOperation, ResourceType
from kproxy.share.limits import ShareLimits
from tests.in_memory.scripted_rights import AskingAuthorizer, ScriptedRights
from tests.worlds.share_group_world import ORDERS, Member, ShareGroupWorld, acquired, loaded
from tests.worlds.waiting import until_all_wait

READ_ALL = (
    (AclOperation.READ, ResourceType.GROUP, "g"),
    (AclOperation.READ, ResourceType.TOPIC, "orders"),
)


async def three_members_and_a_full_window() -> tuple[ShareGroupWorld, Member, Member, Member]:
    """Return the holder of all that the window has room for, and two others."""
    limits = ShareGroupLimits(share=ShareLimits(partition_max_record_locks=5))
    world = ShareGroupWorld(passes_time=False, limits=limits, authorizer=AskingAuthorizer())
    await world.initialize()
    members = [world.member(name, node_id=-1) for name in ("alice", "bob", "carol")]
    for member in members:
        member.rights = ScriptedRights(*READ_ALL)
        await member.open()
    await loaded(world.groups.directory, world.key())
    world.produce(5)
    alice, bob, carol = members
    assert acquired(await alice.fetch()) == [(0, 4, 1)]
    return world, alice, bob, carol


async def test_who_is_given_the_turn_keeps_nobody_from_records_while_its_broker_is_asked_what_it_may_do() -> (
    None
):
    # Given: bob waits for room in a full window, and is the next one
    world, alice, bob, carol = await three_members_and_a_full_window()
    assert isinstance(bob.rights, ScriptedRights)
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(bob.fetch(max_wait_ms=60_000))
        await until_all_wait(50)
        bob.rights.may_tell = may_tell = asyncio.Event()
        await alice.acknowledge({(ORDERS, 0): [(0, 4, [1])]})
        world.produce(5)

        # When
        fetching = tasks.create_task(carol.fetch(max_wait_ms=500))
        await until_all_wait(100)
        was_done = fetching.done()
        world.clock.advance(500)

        # Then
        await carol.acknowledge({(ORDERS, 0): [(5, 9, [2])]})
        may_tell.set()
    assert was_done
    assert acquired(fetching.result()) == [(5, 9, 1)]
    assert acquired(waiting.result()) == [(5, 9, 2)]
