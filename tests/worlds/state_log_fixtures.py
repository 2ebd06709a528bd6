"""Fixtures of tests over the state log: a cluster that has its topics, and kproxy's half in front of it.

The `conftest.py` of a folder names those that its tests ask for.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Literal

import pytest

from kproxy.net.state_log.claim import SlotClaims
from tests.event_loops import async_fixture
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.state_logs import StateLogBacking, create_state_topics
from tests.worlds.tended_slots import Tended
from tests.worlds.written_partition import Written


@pytest.fixture
def node_ids() -> Sequence[int]:
    """The brokers of the cluster; a test or a file may say otherwise."""
    return (1,)


@async_fixture
async def cluster(node_ids: Sequence[int]) -> AsyncIterator[ScriptedStateLog]:
    """A cluster that has the state topics."""
    async with ScriptedStateLog(node_ids) as cluster:
        create_state_topics(cluster)
        yield cluster


@async_fixture
async def backing(cluster: ScriptedStateLog) -> AsyncIterator[StateLogBacking]:
    """What kproxy has in front of the cluster."""
    async with StateLogBacking(cluster) as backing:
        yield backing


@pytest.fixture
def on_corrupt() -> Literal["stop", "skip"]:
    """What becomes of a record that cannot be read."""
    return "stop"


@async_fixture
async def claims(backing: StateLogBacking, on_corrupt: Literal["stop", "skip"]) -> AsyncIterator[SlotClaims]:
    """What claims and loads slots."""
    yield backing.claims(await backing.found(), on_corrupt=on_corrupt)


@async_fixture
async def written() -> AsyncIterator[Written]:
    """A claimed partition in a cluster of two brokers."""
    async with ScriptedStateLog((1, 2)) as cluster, StateLogBacking(cluster) as backing:
        yield await Written(cluster, backing).claimed()


@async_fixture
async def tended(cluster: ScriptedStateLog, backing: StateLogBacking) -> AsyncIterator[Tended]:
    """Slots that snapshot after every second update, and what looks after them."""
    yield Tended(cluster, backing, await backing.ready_slots(updates_per_snapshot=1))
