"""Peers that cannot be reached, are lost, or say nothing: what their clients hear, and what is left behind."""

from dataclasses import replace

import pytest

from kproxy.net.peers.peer_limits import PeerLimits
from tests.event_loops import BOTH_LOOPS
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.unit.net.peering import (
    Fleet,
    ScriptedPeer,
    fetch_of,
    fetched,
    frame_from,
    heartbeat_of,
    number_of,
)
from tests.unit.net.relaying import ended, request, response
from tests.worlds.waiting import until

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)

QUICK = PeerLimits(connect_timeout_ms=500, preamble_ms=500, patience_ms=60, stall_ms=60, farewell_ms=500)

NO_ANSWER = "b, which serves it, gave no answer"


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """Return what the log says of requests that had no answer: operators see why, clients do not."""
    return str(
        [vars(record)["event_keys"] for record in caplog.records if record.msg == "peer_gave_no_answer"]
    )


async def test_a_client_that_goes_while_its_peer_is_dialled_leaves_no_connection_behind() -> None:
    async with Fleet(limits=QUICK) as fleet, ScriptedBroker() as mute:
        # Given
        peer = replace(fleet.owner.peer, port=mute.port)
        fleet.process.owners.by_group["mute"] = peer
        _, writer = await fleet.process.connect()
        writer.write(fetch_of("mute", 7))
        await mute.until_received(8)

        # When
        writer.close()

        # Then
        await until(lambda: mute.ended_count == 1)
        await until(lambda: not fleet.process.twins._places)
        await until(lambda: len(fleet.process.tasks) == 1)


@pytest.mark.parametrize("is_answering", [False, True])
async def test_a_peer_that_is_lost_before_its_answer_is_refused_for_and_asked_again_the_next_time(
    is_answering: bool,  # noqa: FBT001 - parametrized
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Fleet() as fleet:
        # Given
        reader, writer = await fleet.process.connect()
        if is_answering:
            fleet.owner.apis.may_answer.set()
            writer.write(fetch_of("far", 1))
            await frame_from(reader)
            fleet.owner.apis.may_answer.clear()
            fleet.owner.apis.was_asked.clear()
        writer.write(fetch_of("far", 2))
        await fleet.owner.apis.was_asked.wait()

        # When
        fleet.owner.sweeper.cut_off()
        refused = await frame_from(reader)
        fleet.owner.apis.may_answer.set()
        writer.write(fetch_of("far", 3))
        served = await frame_from(reader)

        # Then
        (context,) = fleet.process.apis.contexts
        assert context.refusal == NO_ANSWER
        assert "b closed the connection before it had answered" in logged(caplog)
        assert [number_of(refused), number_of(served)] == [2, 3]
        assert fleet.owner.apis.requests[-1].correlation_id == 3
        assert fleet.process.measured.of("relayed_requests", "ShareFetch", "lost") == 1
        writer.close()


async def test_a_peer_that_cannot_be_reached_is_refused_for_in_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Fleet() as fleet:
        # Given
        fleet.process.owners.by_group["gone"] = replace(fleet.owner.peer, name="c", port=1)
        reader, writer = await fleet.process.connect()

        # When
        writer.write(heartbeat_of("gone", 7))
        await frame_from(reader)

        # Then
        (context,) = fleet.process.apis.contexts
        assert context.refusal == "c, which serves it, gave no answer"
        assert "c: 127.0.0.1:1 cannot be reached" in logged(caplog)
        assert fleet.process.measured.of("relayed_requests", "ShareGroupHeartbeat", "unreachable") == 1
        writer.close()


async def test_another_process_at_the_address_of_a_peer_is_not_asked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Fleet() as fleet:
        # Given
        fleet.process.owners.by_group["far"] = replace(fleet.owner.peer, token="token of its predecessor")
        reader, writer = await fleet.process.connect()

        # When
        writer.write(heartbeat_of("far", 7))
        await frame_from(reader)

        # Then
        (context,) = fleet.process.apis.contexts
        assert context.refusal == NO_ANSWER
        assert "another process answers there: b" in logged(caplog)
        assert not fleet.owner.apis.requests
        writer.close()


async def test_a_peer_that_says_nothing_is_refused_for_after_a_while(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Fleet(limits=QUICK) as fleet, ScriptedPeer() as silent:
        # Given
        fleet.process.owners.by_group["silent"] = silent.peer
        reader, writer = await fleet.process.connect()

        # When
        writer.write(fetch_of("silent", 7))
        await frame_from(reader)

        # Then
        (context,) = fleet.process.apis.contexts
        assert context.refusal == NO_ANSWER
        assert "b was silent for too long" in logged(caplog)
        assert silent.connections[0].received == fetch_of("silent", 7)
        await until(lambda: silent.connections[0].is_lost)
        writer.close()


@pytest.mark.parametrize("is_lost", [False, True])
async def test_a_peer_that_ends_in_the_middle_of_its_answer_costs_its_client_the_connection(
    is_lost: bool,  # noqa: FBT001 - parametrized
) -> None:
    # The answer is to begin before the peer would be given up.
    limits = replace(QUICK, patience_ms=400, stall_ms=400)
    async with Fleet(limits=limits) as fleet, ScriptedPeer() as scripted:
        # Given
        fleet.process.owners.by_group["half"] = scripted.peer
        reader, writer = await fleet.process.connect()
        writer.write(fetch_of("half", 7) + request(8))
        await until(lambda: bool(scripted.connections and scripted.connections[0].received))

        # When
        scripted.connections[0].transport.write(response(7, bytes(1000))[:500])
        assert await reader.readexactly(500) == response(7, bytes(1000))[:500]
        if is_lost:
            scripted.connections[0].transport.abort()
        rest = await ended(reader)

        # Then
        assert rest == b""
        assert fleet.process.counted.of("connection_errors", "peer", "lost_mid_answer") == 1
        assert not fleet.process.apis.requests
        writer.close()


async def test_a_peer_that_answers_what_nobody_asked_is_refused_for(caplog: pytest.LogCaptureFixture) -> None:
    async with Fleet() as fleet, ScriptedPeer() as scripted:
        # Given
        fleet.process.owners.by_group["odd"] = scripted.peer
        reader, writer = await fleet.process.connect()
        writer.write(fetch_of("odd", 7))
        await until(lambda: bool(scripted.connections and scripted.connections[0].received))

        # When
        scripted.connections[0].transport.write(response(8))
        await frame_from(reader)

        # Then
        (context,) = fleet.process.apis.contexts
        assert context.refusal == NO_ANSWER
        assert "b answered correlation id 8, which nobody asked for" in logged(caplog)
        writer.close()


async def test_who_left_the_fleet_is_waited_for_no_longer(caplog: pytest.LogCaptureFixture) -> None:
    """A process that stands still answers nothing and closes nothing."""
    async with Fleet() as fleet:
        # Given
        reader, writer = await fleet.process.connect()
        writer.write(fetch_of("far", 7))
        await fleet.owner.apis.was_asked.wait()

        # When
        fleet.process.owners.by_group.clear()
        fleet.process.twins.drop_departed()
        await frame_from(reader)

        # Then
        (context,) = fleet.process.apis.contexts
        assert context.refusal == NO_ANSWER
        assert "b serves no group any more" in logged(caplog)
        await until(lambda: not fleet.owner.relay.connections)
        writer.close()


async def test_who_left_the_fleet_in_the_middle_of_its_answer_ends_that() -> None:
    async with Fleet() as fleet, ScriptedPeer() as scripted:
        # Given
        fleet.process.owners.by_group["half"] = scripted.peer
        reader, writer = await fleet.process.connect()
        writer.write(fetch_of("half", 7))
        await until(lambda: bool(scripted.connections and scripted.connections[0].received))
        scripted.connections[0].transport.write(response(7, bytes(1000))[:500])
        first = await reader.readexactly(500)

        # When
        fleet.process.owners.by_group.clear()
        fleet.process.twins.drop_departed()
        scripted.connections[0].transport.write(response(7, bytes(1000))[500:])
        rest = await reader.readexactly(len(response(7, bytes(1000))) - 500)

        # Then
        assert first + rest == response(7, bytes(1000))
        await until(lambda: fleet.process.twins.traffic.open_twins == 0)
        writer.close()


@pytest.mark.parametrize("has_moved", [False, True])
async def test_an_answer_on_its_way_when_its_peer_is_known_to_serve_the_group_no_more_is_not_handed_on(
    has_moved: bool,  # noqa: FBT001 - parametrized
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The peer still serves other groups, and its connection serves the client's next request."""
    async with Fleet() as fleet:
        # Given
        owners = fleet.process.owners
        owners.by_group["far too"] = fleet.owner.peer
        fleet.owner.apis.records = b"records"
        reader, writer = await fleet.process.connect()
        writer.write(fetch_of("far", 7) + fetch_of("far too", 8))
        await fleet.owner.apis.was_asked.wait()

        # When
        owners.is_sure = has_moved
        if has_moved:
            owners.by_group["far"] = replace(fleet.owner.peer, token="token-c", name="c")
        fleet.owner.apis.may_answer.set()
        refused = await frame_from(reader)
        owners.is_sure = True
        served = await frame_from(reader)

        # Then
        assert number_of(refused) == 7
        (context,) = fleet.process.apis.contexts
        assert context.refusal == NO_ANSWER
        assert ("moved" if has_moved else "lease_ended") in logged(caplog)
        assert fetched(served) == (8, b"records")
        assert len(fleet.owner.relay.connections) == 1
        writer.close()


async def test_a_connection_that_the_peer_closed_while_nobody_asked_is_made_anew() -> None:
    async with Fleet() as fleet:
        # Given
        fleet.owner.apis.may_answer.set()
        reader, writer = await fleet.process.connect()
        writer.write(fetch_of("far", 1))
        await frame_from(reader)
        fleet.owner.sweeper.cut_off()
        await until(lambda: fleet.process.twins.traffic.open_twins == 0)

        # When
        writer.write(fetch_of("far", 2))
        answer = await frame_from(reader)

        # Then
        assert number_of(answer) == 2
        assert not fleet.process.apis.requests
        writer.close()
