"""Members of a fleet at real coordinators, with the delays that brokers have as shipped."""

import asyncio
import time
from typing import Final

import pytest

from tests.event_loops import run
from tests.in_memory.group_coordinator_contract import a_group_comes_changes_and_goes
from tests.real_kafka.administration import unique_name
from tests.real_kafka.backing_topics import addresses, looking_at
from tests.real_kafka.cluster import KafkaCluster
from tests.worlds.fleet_members import SLOT_COUNT, a_fleet

AS_SHIPPED: Final = {"group.initial.rebalance.delay.ms": 3_000}


@pytest.mark.parametrize("version", ["4.3.1", "2.8.2"])
async def test_coordinators_do_what_a_fleet_builds_on(cluster: KafkaCluster) -> None:
    async with looking_at(cluster) as backing:
        await backing.metadata.refresh()
        await a_group_comes_changes_and_goes(backing, unique_name("fleet"))


@pytest.mark.parametrize("version", ["4.3.1", "2.8.2"])
def test_one_two_three_members_share_the_slots_one_dies_and_one_leaves(
    version: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with KafkaCluster(version, broker_settings=AS_SHIPPED) as cluster:
        figures = run(live_and_die(cluster))
    with capsys.disabled():
        print(
            f"\nKafka {version}: " + ", ".join(f"{what} {figure:.3f} s" for what, figure in figures.items())
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
