"""Who is asked: the group's coordinator, on one connection for what waits and one for what must not."""

import asyncio
from collections.abc import AsyncIterator

from kproxy.error_codes import ErrorCode
from kproxy.fleet.group_protocol import Describe, Described, Heartbeat, Join, Refused, Unanswered
from kproxy.fleet.limits import FleetLimits
from kproxy.net.fleet.coordinator_link import CoordinatorLink
from kproxy.wire.api_keys import ApiKey
from tests.event_loops import async_fixture
from tests.in_memory.in_memory_fleet_cluster import InMemoryFleetCluster
from tests.worlds.backing import Backing

SOON_MS = 5_000


@async_fixture
async def cluster() -> AsyncIterator[InMemoryFleetCluster]:
    async with InMemoryFleetCluster(initial_delay_ms=600_000) as cluster:
        yield cluster


@async_fixture
async def link(cluster: InMemoryFleetCluster) -> AsyncIterator[CoordinatorLink]:
    async with Backing(cluster.servers) as backing:
        link = CoordinatorLink(
            "fleet", FleetLimits(), metadata=backing.metadata, connections=backing.connections
        )
        yield link
        link.close()


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
