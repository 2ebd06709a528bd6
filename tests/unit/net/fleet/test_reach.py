"""Who can be reached at the address that it tells."""

from dataclasses import replace

from kproxy.net.fleet import reach
from kproxy.net.fleet.reach import ReachCheck
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.worlds.fleet_world import profile


async def test_who_does_not_answer_is_named_with_the_reason_and_this_process_is_not_dialled() -> None:
    # Given
    check = ReachCheck(profile("me").token)
    async with ScriptedBroker() as listener:
        profiles = {
            "id-me": replace(profile("me"), port=1),
            "id-near": replace(profile("near"), port=listener.port),
            "id-far": replace(profile("far"), port=1),
        }

        # When
        unreachable = await check.unreachable(profiles)

    # Then
    assert set(unreachable) == {"id-far"}
    assert unreachable["id-far"].startswith("127.0.0.1:1 cannot be reached")


async def test_who_was_reached_once_is_not_dialled_again() -> None:
    # Given
    check = ReachCheck("me")
    async with ScriptedBroker() as listener:
        profiles = {"id-near": replace(profile("near"), port=listener.port)}
        before = await check.unreachable(profiles)

    # When
    after = await check.unreachable(profiles)

    # Then
    assert (before, after) == ({}, {})


async def test_this_process_is_not_dialled_however_many_others_were() -> None:
    # Given
    check = ReachCheck(profile("me").token)
    for number in range(reach.MOST_REMEMBERED):
        check._remember(str(number))

    # When
    unreachable = await check.unreachable({"id-me": replace(profile("me"), port=1)})

    # Then
    assert unreachable == {}


async def test_what_is_remembered_is_bounded() -> None:
    # Given
    check = ReachCheck("me")
    for number in range(2 * reach.MOST_REMEMBERED):
        # When
        check._remember(str(number))

    # Then
    assert len(check._reached) == reach.MOST_REMEMBERED
