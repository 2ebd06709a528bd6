"""What a client sent before it went is served by the owner of its group, under the rules for what is left.

In one process: tests/unit/net/relay/test_left_requests.py.
"""

import asyncio
from typing import Any, cast

import pytest

from kproxy.handlers.request_context import RequestContext
from kproxy.net.peers.peer_dialler import PeerDialler
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.share_acknowledge_request import ShareAcknowledgeRequest
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from tests.event_loops import BOTH_LOOPS
from tests.in_memory.scripted_caller import ScriptedCaller
from tests.unit.net.member_of_orders import acceptance, acquired_count, fetch_of_orders
from tests.unit.net.peering import Fleet, acknowledgement_of, dialler, heartbeat_of
from tests.unit.net.relaying import request, response
from tests.worlds.share_group_world import ShareGroupWorld
from tests.worlds.waiting import until

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)


class HeldDialler:
    """A `PeerDialler` whose dials begin when the test lets them."""

    def __init__(self) -> None:
        self._dialler = dialler()
        self.may_dial = asyncio.Event()
        self.was_asked = asyncio.Event()

    async def open(self, *arguments: Any, **named: Any) -> asyncio.BaseProtocol:
        """Dial, later."""
        self.was_asked.set()
        await self.may_dial.wait()
        return cast("asyncio.BaseProtocol", await self._dialler.open(*arguments, **named))


async def test_an_opening_fetch_that_was_left_takes_nothing_from_its_member_on_a_new_connection() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.initialize()
    world.produce(5)
    async with Fleet() as fleet:
        fleet.owner.relay.apis = world.groups.apis
        fleet.process.owners.by_group["g"] = fleet.owner.peer
        _, first = await fleet.process.connect()
        first.write(request(1) + fetch_of_orders(2, 0, max_wait_ms=0))
        await fleet.broker.until_received(len(request(1)))
        broker_of_first = fleet.broker.writers[-1]
        first.close()
        await until(lambda: not fleet.process.relay.connections)
        _, second = await fleet.process.connect()
        second.write(fetch_of_orders(1, 0, max_wait_ms=0) + fetch_of_orders(2, 1, max_wait_ms=0))
        await until(lambda: acquired_count(world) == 5)

        # When
        broker_of_first.write(response(1))
        await until(lambda: bool(world.observer.refusals))

        # Then
        assert acquired_count(world) == 5
        second.write(acceptance(3, 2, last_offset=4))
        await until(lambda: acquired_count(world) == 0)
        durable = await world.state_log.load(world.key())
        assert durable is not None
        assert durable.delivery_complete_count == 5
        second.close()


@pytest.mark.parametrize("left", [heartbeat_of("far", 7), acknowledgement_of("far", 7)])
async def test_the_last_word_of_a_client_that_goes_while_its_peer_is_dialled_is_served(left: bytes) -> None:
    async with Fleet() as fleet:
        # Given
        held = HeldDialler()
        fleet.process.twins._dialler = cast("PeerDialler", held)
        fleet.owner.apis.may_answer.set()
        _, writer = await fleet.process.connect()
        writer.write(left)
        await held.was_asked.wait()

        # When
        writer.close()
        await until(lambda: not fleet.process.relay.connections)
        held.may_dial.set()

        # Then
        await fleet.owner.apis.was_closed.wait()
        (context,) = fleet.owner.apis.contexts
        assert context.caller.is_gone
        await until(lambda: not fleet.process.relay.ending)
        await until(lambda: fleet.process.twins.traffic.open_twins == 0)


# ------------------------------------------------ decoded here, and then their group moved

LEAVE = DecodedRequest(76, 1, 3, "client", ShareGroupHeartbeatRequest(group_id="far", member_id="m"))
FAREWELL = DecodedRequest(
    79, 2, 3, "client", ShareAcknowledgeRequest(group_id="g", member_id="m", share_session_epoch=-1)
)


def context_of(asked: DecodedRequest, caller: ScriptedCaller) -> RequestContext:
    return RequestContext(
        5, -1, asked.api_key, asked.api_version, "client", "/10.0.0.1", "10.0.0.1:4711", caller=caller
    )


async def test_who_is_asked_what_a_client_left_hears_that_it_is_gone_and_is_waited_for() -> None:
    async with Fleet() as fleet:
        # Given
        fleet.owner.apis.may_answer.set()
        context = context_of(LEAVE, ScriptedCaller(is_gone=True))

        # When
        message = await fleet.process.twins.ask(fleet.owner.peer, LEAVE, context)

        # Then
        assert message == ShareGroupHeartbeatResponse(member_id="m")
        assert [told.caller.is_gone for told in fleet.owner.apis.contexts] == [True]


async def test_a_peer_that_is_dialled_while_the_client_goes_hears_of_that_before_it_is_asked() -> None:
    async with Fleet() as fleet:
        # Given
        held = HeldDialler()
        fleet.process.twins._dialler = cast("PeerDialler", held)
        fleet.owner.apis.may_answer.set()
        caller = ScriptedCaller()
        question = fleet.process.twins.ask(fleet.owner.peer, LEAVE, context_of(LEAVE, caller))

        # When
        async with asyncio.TaskGroup() as group:
            group.create_task(question)
            await held.was_asked.wait()
            caller.is_gone = True
            held.may_dial.set()

        # Then
        assert [told.caller.is_gone for told in fleet.owner.apis.contexts] == [True]


async def test_the_end_of_a_session_that_was_left_does_not_end_that_of_its_member_on_a_new_connection() -> (
    None
):
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.initialize()
    world.produce(5)
    async with Fleet() as fleet:
        fleet.owner.relay.apis = world.groups.apis
        fleet.process.owners.by_group["g"] = fleet.owner.peer
        _, writer = await fleet.process.connect()
        writer.write(fetch_of_orders(1, 0, max_wait_ms=0) + fetch_of_orders(2, 1, max_wait_ms=0))
        await until(lambda: acquired_count(world) == 5)

        # When
        context = context_of(FAREWELL, ScriptedCaller(is_gone=True))
        await fleet.process.twins.ask(fleet.owner.peer, FAREWELL, context)
        await until(lambda: len(fleet.owner.relay.connections) == 1)

        # Then
        assert acquired_count(world) == 5
        writer.close()
