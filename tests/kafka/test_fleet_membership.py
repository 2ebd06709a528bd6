"""Members of a fleet at real coordinators, with the delays that brokers have as shipped."""

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from tests.event_loops import run
from tests.in_memory.group_coordinator_contract import a_group_comes_changes_and_goes
from tests.real_kafka.administration import unique_name
from tests.real_kafka.backing_topics import addresses, looking_at
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.fleet_process import FleetProcess
from tests.worlds.fleet_members import SLOT_COUNT, a_fleet

AS_SHIPPED: Final = {"group.initial.rebalance.delay.ms": 3_000}
PATIENCE_SECONDS: Final = 30.0
"""Half of the session that nobody may wait for (`fleet_process.LIMITS`)."""


@pytest.mark.parametrize("version", ["4.3.1", "2.8.2"])
async def test_coordinators_do_what_a_fleet_builds_on(cluster: KafkaCluster) -> None:
    async with looking_at(cluster) as backing:
        await backing.metadata.refresh()
        await a_group_comes_changes_and_goes(backing, unique_name("fleet"))


@pytest.fixture(scope="module", params=["4.3.1", "2.8.2"])
def as_shipped(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    with KafkaCluster(request.param, broker_settings=AS_SHIPPED) as cluster:
        yield cluster


def test_one_two_three_members_share_the_slots_one_dies_and_one_leaves(
    as_shipped: KafkaCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = run(live_and_die(as_shipped))
    with capsys.disabled():
        told = ", ".join(f"{what} {figure:.3f} s" for what, figure in figures.items())
        print(f"\nKafka {as_shipped.version}: {told}")


def test_who_is_killed_and_started_again_waits_for_no_session(
    as_shipped: KafkaCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One is killed while it serves before the first generation, the next one when it has settled."""
    (server, *_), group_id = addresses(as_shipped), unique_name("fleet")
    with ExitStack() as stack:
        port = stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
        first, second, third = (
            stack.enter_context(FleetProcess(name, server, group_id, tmp_path, port))
            for name in ("first", "second", "third")
        )
        first.begin()
        first.until_it_serves(SLOT_COUNT, "provisional", timeout_seconds=PATIENCE_SECONDS)

        # When
        first.kill()
        began = time.perf_counter()
        second.begin()
        second.until_it_serves(SLOT_COUNT, "provisional", timeout_seconds=PATIENCE_SECONDS)
        again = time.perf_counter() - began
        second.until_it_serves(SLOT_COUNT, "settled", timeout_seconds=PATIENCE_SECONDS)
        second.kill()
        began = time.perf_counter()
        third.begin()

        # Then
        third.until_it_serves(SLOT_COUNT, "settled", timeout_seconds=PATIENCE_SECONDS)
        once_more = time.perf_counter() - began
    with capsys.disabled():
        print(
            f"\nKafka {as_shipped.version}: killed, and serves again after {again:.3f} s, {once_more:.3f} s"
        )


async def live_and_die(cluster: KafkaCluster) -> dict[str, float]:
    """Return how long things took. `a_fleet` looks all the time whether two serve one slot."""
    figures: dict[str, float] = {}
    async with a_fleet(addresses(cluster), unique_name("fleet")) as fleet:
        neighbours = fleet.neighbours
        began = time.perf_counter()
        first = await fleet.start("first")
        figures["a cluster without __consumer_offsets: alone after"] = await neighbours.until(
            lambda: neighbours.counts() == [SLOT_COUNT]
        )
        await fleet.start("second")
        figures["second settled after"] = await neighbours.until(lambda: neighbours.counts() == [4, 4])
        figures["since the first start"] = time.perf_counter() - began
        third = await fleet.start("third")
        figures["third settled, longest gap of a slot"] = await neighbours.longest_gap_until(
            lambda: neighbours.counts() == [2, 3, 3]
        )
        await neighbours.members[1].die()
        figures["taken over from the dead after"] = await neighbours.until(
            lambda: neighbours.counts() == [0, 4, 4]
        )
        leaving = asyncio.ensure_future(third.fleet_member.leave(patience_ms=10_000))  # noqa: TID251 - awaited below
        figures["handed over in order, longest gap of a slot"] = await neighbours.longest_gap_until(
            lambda: neighbours.counts() == [0, 0, SLOT_COUNT]
        )
        await leaving
        assert not first.lost
        await first.fleet_member.leave(patience_ms=1_000)
    async with a_fleet(addresses(cluster), unique_name("fleet")) as fleet:
        await fleet.start("another fleet")
        figures["a cluster with __consumer_offsets: alone after"] = await fleet.neighbours.until(
            lambda: fleet.neighbours.counts() == [SLOT_COUNT]
        )
    return figures
