"""Who is asked: the group's coordinator, on one connection for what waits and one for what must not."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.fleet.group_protocol import (
    Describe,
    Described,
    Heartbeat,
    Join,
    Left,
    Refused,
    RemoveDead,
    Unanswered,
)
from kproxy.fleet.limits import FleetLimits
from kproxy.net.fleet.coordinator_link import CoordinatorLink
from kproxy.net.fleet.process_lock import ProcessLock
from kproxy.wire.api_keys import ApiKey
from tests.event_loops import async_fixture
from tests.in_memory.in_memory_fleet_cluster import InMemoryFleetCluster
from tests.worlds.backing import Backing
from tests.worlds.fleet_members import end_like_its_process

SOON_MS = 5_000


@async_fixture
async def cluster() -> AsyncIterator[InMemoryFleetCluster]:
    async with InMemoryFleetCluster(initial_delay_ms=600_000) as cluster:
        yield cluster


@async_fixture
async def link(
    cluster: InMemoryFleetCluster, lock: ProcessLock, caplog: pytest.LogCaptureFixture
) -> AsyncIterator[CoordinatorLink]:
    caplog.set_level(logging.INFO)
    async with Backing(cluster.servers) as backing:
        link = CoordinatorLink(
            "fleet",
            FleetLimits(),
            metadata=backing.metadata,
            connections=backing.connections,
            process=lock,
        )
        yield link
        link.close()


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[ProcessLock]:
    lock = ProcessLock.take(tmp_path)
    yield lock
    lock.release()


def file_count(folder: Path) -> int:
    return len(list(folder.iterdir()))


async def member_of(link: CoordinatorLink) -> str:
    """Return the id of a new member, as the coordinator gave it."""
    refused = await link.ask_step(Join("", b"me"))
    assert isinstance(refused, Refused)
    return refused.member_id


async def test_the_coordinator_is_found_though_no_broker_is_known_yet(link: CoordinatorLink) -> None:
    assert await link.ask_pulse(Describe("a"), patience_ms=SOON_MS) == Described("Empty", frozenset())
    assert link.last_failure == ""


async def test_pulses_do_not_wait_behind_a_join_that_is_held(
    cluster: InMemoryFleetCluster, link: CoordinatorLink
) -> None:
    # Given
    refused = await link.ask_step(Join("", b"me"))
    assert isinstance(refused, Refused)
    held = asyncio.ensure_future(link.ask_step(Join(refused.member_id, b"me")))  # noqa: TID251 - awaited below
    await cluster.cluster.brokers[2].until_asked(ApiKey.JOIN_GROUP, 2)

    # When
    answer = await link.ask_pulse(Describe("a"), patience_ms=SOON_MS)

    # Then
    assert answer == Described("PreparingRebalance", frozenset({refused.member_id}))
    link.abandon_step()
    assert await held == Unanswered()


async def test_a_pulse_that_hangs_is_given_up_in_time_and_the_coordinator_looked_for_anew(
    cluster: InMemoryFleetCluster, link: CoordinatorLink
) -> None:
    # Given
    cluster.is_deaf = True

    # When
    answer = await link.ask_pulse(Heartbeat("a", 1), patience_ms=300)

    # Then
    assert (answer, link.last_failure) == (Unanswered(), "no answer within 300 ms")
    cluster.is_deaf = False
    cluster.coordinator_id = 1
    assert await link.ask_pulse(Describe("a"), patience_ms=SOON_MS) == Described("Empty", frozenset())


async def test_a_broker_that_coordinates_no_more_is_not_asked_again(
    cluster: InMemoryFleetCluster, link: CoordinatorLink
) -> None:
    # Given
    await link.ask_pulse(Describe("a"), patience_ms=SOON_MS)
    cluster.coordinator_id = 1

    # When
    answers = [await link.ask_pulse(Heartbeat("a", 1), patience_ms=SOON_MS) for _ in range(2)]

    # Then
    assert answers == [Refused(ErrorCode.NOT_COORDINATOR), Refused(ErrorCode.UNKNOWN_MEMBER_ID)]


async def test_a_coordinator_at_whose_old_address_another_broker_is_now_is_found_at_its_new_one(
    cluster: InMemoryFleetCluster, link: CoordinatorLink
) -> None:
    # Given
    await link.ask_pulse(Describe("a"), patience_ms=SOON_MS)
    first, second = cluster.cluster.brokers.values()

    # When
    await first.swap_places(second)

    # Then
    answers = [await link.ask_pulse(Describe("a"), patience_ms=SOON_MS) for _ in range(3)]
    assert answers[-1] == Described("Empty", frozenset()), answers


async def test_a_coordinator_that_nobody_knows_is_no_answer(
    cluster: InMemoryFleetCluster, link: CoordinatorLink
) -> None:
    # Given
    cluster.coordinator_id = 7

    # When
    answer = await link.ask_step(Join("", b"me"))

    # Then
    assert answer == Unanswered()
    assert link.last_failure == "broker 7, which coordinates fleet, is not known"


async def test_the_member_id_tells_which_process_joined(link: CoordinatorLink, lock: ProcessLock) -> None:
    assert (await member_of(link)).startswith(f"{lock.client_id}-")


async def test_no_other_request_is_charged_to_another_client_id_than_the_rest_of_kproxy(
    cluster: InMemoryFleetCluster, link: CoordinatorLink
) -> None:
    # When
    member_id = await member_of(link)
    await link.ask_pulse(Describe(member_id), patience_ms=SOON_MS)
    await link.ask_pulse(RemoveDead(member_id, frozenset({member_id})), patience_ms=SOON_MS)

    # Then
    asked = cluster.cluster.brokers[2].requests
    assert {each.client_id for each in asked if each.api_key != ApiKey.JOIN_GROUP} == {"kproxy"}


async def test_a_description_tells_who_is_dead_until_the_dead_are_removed(
    cluster: InMemoryFleetCluster,
    link: CoordinatorLink,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Given
    killed = ProcessLock.take(tmp_path)
    dead_id, living_id = f"{killed.client_id}-uuid", await member_of(link)
    end_like_its_process(killed)
    for member_id in (dead_id, living_id):
        cluster.coordinator.admit(member_id)

    # When
    before = await link.ask_pulse(Describe(living_id), patience_ms=SOON_MS)
    removed = await link.ask_pulse(RemoveDead(living_id, frozenset({dead_id})), patience_ms=SOON_MS)
    after = await link.ask_pulse(Describe(living_id), patience_ms=SOON_MS)

    # Then
    assert before == Described(
        "PreparingRebalance", frozenset({dead_id, living_id}), dead=frozenset({dead_id})
    )
    assert (removed, after) == (Left(), Described("PreparingRebalance", frozenset({living_id})))
    assert file_count(tmp_path) == 1
    assert "fleet_dead_members_removed" in caplog.messages


async def test_what_is_known_of_the_dead_is_kept_where_they_are_not_removed(
    cluster: InMemoryFleetCluster, link: CoordinatorLink, tmp_path: Path
) -> None:
    # Given
    killed = ProcessLock.take(tmp_path)
    dead_id = f"{killed.client_id}-uuid"
    end_like_its_process(killed)
    cluster.refusals[ApiKey.LEAVE_GROUP] = [ErrorCode.GROUP_AUTHORIZATION_FAILED]

    # When
    answer = await link.ask_pulse(RemoveDead("a", frozenset({dead_id})), patience_ms=SOON_MS)

    # Then
    assert answer == Refused(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    assert file_count(tmp_path) == 2
