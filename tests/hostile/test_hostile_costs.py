"""A hostile request costs at most 50 ms of the loop in one turn, and memory in proportion to its size and elements.

Time is processor time of the thread of the loop, the least of three tries, in a process of its own.
"""

from collections.abc import Iterator

import pytest

from tests.hostile.hostile_requests import MOST_BYTES, hostile_requests, looked_into
from tests.hostile.hostile_world import HostileWorld, hostile_world
from tests.hostile.known_costs import most_served_bytes

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

LONGEST_TURN_MS = 50
SPARE_BYTES = 2 * 1024 * 1024
"""Of memory, for what else the process does meanwhile."""


@pytest.fixture(scope="module")
def world() -> Iterator[HostileWorld]:
    with hostile_world() as running:
        yield running


@pytest.mark.parametrize(("api_key", "version"), looked_into())
def test_no_request_holds_up_the_loop_or_takes_memory_out_of_proportion(
    world: HostileWorld, api_key: int, version: int
) -> None:
    too_dear = []
    for hostile in hostile_requests(api_key, version):
        frame = hostile.frame
        assert len(frame) <= MOST_BYTES
        cost = world.cost_of(frame)
        bound = most_served_bytes(hostile, cost.answered_bytes) + SPARE_BYTES
        if cost.longest_ms > LONGEST_TURN_MS or cost.memory_bytes > bound:
            too_dear.append(f"{hostile.name}: {cost}, bound {bound}")

    assert too_dear == []
