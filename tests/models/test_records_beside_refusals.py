"""A member whose session has a partition that nobody leads gets the records of the other one in time."""

import asyncio

import pytest

from kproxy.handlers.held_refusals import HeldRefusals
from kproxy.handlers.ports import PartitionLeader
from kproxy.handlers.refusal_streaks import RefusalStreaks
from kproxy.handlers.request_context import RequestContext
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.share_fetch_request import FetchPartition, FetchTopic, ShareFetchRequest
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from tests.in_memory.in_memory_waits import InMemoryWaits
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld, acquired
from tests.worlds.waiting import until_all_wait

FETCH = 78
PRODUCED_MS = 3_000
MOST_FETCHES = 100


class Scene:
    """One member that fetches again and again; a record comes to the partition that is led."""

    def __init__(self) -> None:
        self.world = ShareGroupWorld(passes_time=False)
        waits = InMemoryWaits(self.world.clock)
        groups = self.world.groups
        self.held = HeldRefusals(groups.apis, waits, sessions=groups.sessions, clock=self.world.clock)
        self.context = RequestContext(1, 1, FETCH, 2, "client", "/127.0.0.1", refusals=RefusalStreaks())

    async def fetch(self, epoch: int, *, min_bytes: int, max_wait_ms: int) -> ShareFetchResponse:
        named = [FetchPartition(number, acknowledgement_batches=[]) for number in (0, 1)]
        request = ShareFetchRequest(
            group_id="g",
            member_id="alice",
            share_session_epoch=epoch,
            min_bytes=min_bytes,
            max_wait_ms=max_wait_ms,
            max_bytes=1 << 20,
            max_records=1,
            batch_size=1,
            topics=[] if epoch else [FetchTopic(ORDERS, named)],
        )
        serving = self.held.serve(DecodedRequest(FETCH, 2, 1, "client", request), self.context)
        task = asyncio.get_running_loop().create_task(serving)
        await until_all_wait(30)
        while not task.done():
            self.world.clock.advance(10)
            if self.world.clock.now_ms() == PRODUCED_MS:
                self.world.produce(1)
            await until_all_wait(30)
        answer = await task
        assert isinstance(answer, ShareFetchResponse)
        return answer


@pytest.mark.parametrize(("min_bytes", "max_wait_ms"), [(0, 500), (1, 50), (1, 500)])
async def test_records_do_not_wait_behind_the_refusal_of_another_partition(
    min_bytes: int, max_wait_ms: int
) -> None:
    # Given
    scene = Scene()
    world = scene.world
    world.metadata.create_topic("orders", ORDERS, partition_count=2)
    for partition in (0, 1):
        await world.initialize(partition=partition)
    world.metadata.move_leader(ORDERS, 1, PartitionLeader(-1, 1))

    # When
    for epoch in range(MOST_FETCHES):
        if acquired(await scene.fetch(epoch, min_bytes=min_bytes, max_wait_ms=max_wait_ms)):
            break

    # Then
    assert PRODUCED_MS <= world.clock.now_ms() <= PRODUCED_MS + 500
