"""Requests for groups of another process go there over a connection of their own, and come back as answered."""

import asyncio
import threading
from dataclasses import replace

import pytest

from kproxy.errors import CoordinatorNotAvailable
from kproxy.handlers.request_context import RequestContext
from kproxy.net.peers.peer_limits import PeerLimits
from kproxy.net.relay.relay import WRITE_HIGH_WATER_BYTES
from kproxy.wire import codecs
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListedGroup, ListGroupsResponse
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from tests.event_loops import BOTH_LOOPS
from tests.unit.net.peering import (
    Fleet,
    OwnerUnderTest,
    ScriptedPeer,
    acknowledgement_of,
    fetch_of,
    fetched,
    frame_from,
    heartbeat_of,
    number_of,
)
from tests.unit.net.relaying import request, response, settled
from tests.worlds.waiting import until

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)

QUICK = PeerLimits(connect_timeout_ms=500, preamble_ms=500, patience_ms=60, stall_ms=60, farewell_ms=500)


async def test_a_fetch_of_a_group_that_a_peer_owns_is_answered_by_the_peer_alone() -> None:
    async with Fleet() as fleet:
        # Given
        fleet.owner.apis.records = b"records" * 10
        fleet.owner.apis.may_answer.set()
        reader, writer = await fleet.process.connect()

        # When
        writer.write(fetch_of("far", 7))
        answer = await frame_from(reader)

        # Then
        assert fetched(answer) == (7, b"records" * 10)
        assert not fleet.process.apis.requests
        assert fleet.process.measured.of("relayed_requests", "ShareFetch", "answered") == 1
        assert fleet.process.measured.observed == [("relayed_request_duration_seconds", "ShareFetch")]
        writer.close()


async def test_the_peer_is_told_who_its_client_is() -> None:
    async with Fleet() as fleet:
        # Given
        fleet.owner.apis.may_answer.set()
        reader, writer = await fleet.process.connect()

        # When
        writer.write(heartbeat_of("far", 7))
        await frame_from(reader)

        # Then
        (context,) = fleet.owner.apis.contexts
        host, port = writer.get_extra_info("sockname")
        assert context.peer == f"{host}:{port}"
        assert (context.client_host, context.client_id, context.node_id) == (f"/{host}", "client", -1)
        writer.close()


async def test_answers_of_broker_peer_and_kproxy_leave_in_the_order_of_the_requests() -> None:
    async with Fleet() as fleet:
        # Given
        fleet.owner.apis.may_answer.set()
        reader, writer = await fleet.process.connect()

        # When
        writer.write(
            request(1) + fetch_of("far", 2) + fetch_of("near", 3) + request(4) + heartbeat_of("far", 5)
        )
        await fleet.broker.until_received(len(request(1)))
        fleet.broker.send(response(1))
        answers = [await frame_from(reader) for _ in range(3)]
        await fleet.broker.until_received(2 * len(request(1)))
        fleet.broker.send(response(4))
        answers += [await frame_from(reader) for _ in range(2)]

        # Then
        assert [number_of(answer) for answer in answers] == [1, 2, 3, 4, 5]
        assert len(fleet.owner.apis.requests) == 2
        writer.close()


async def test_a_client_connection_has_one_connection_to_each_owner_and_shares_it_with_nobody() -> None:
    async with Fleet() as fleet, OwnerUnderTest("c") as other:
        # Given
        fleet.process.owners.by_group |= {"far too": fleet.owner.peer, "elsewhere": other.peer}
        for owner in (fleet.owner, other):
            owner.apis.may_answer.set()
        clients = [await fleet.process.connect() for _ in range(2)]

        # When
        for reader, writer in clients:
            for number, group in enumerate(["far", "far too", "elsewhere", "far"]):
                writer.write(fetch_of(group, number))
                await frame_from(reader)

        # Then
        assert (len(fleet.owner.relay.connections), len(other.relay.connections)) == (2, 2)
        assert {context.connection_id for context in fleet.owner.apis.contexts} == {1, 2}
        for _, writer in clients:
            writer.close()


async def test_a_client_that_does_not_read_stops_the_peer_and_nothing_piles_up_here() -> None:
    async with Fleet() as fleet:
        # Given
        records = bytes(40 << 20)
        fleet.owner.apis.records = records
        fleet.owner.apis.may_answer.set()
        client = await fleet.process.connect_unread()

        # When
        await client.send(fetch_of("far", 7))
        await until(lambda: fleet.process.relay.buffered_bytes() > 0)
        held = await settled(fleet.process.relay.buffered_bytes)

        # Then
        assert held < 2 * WRITE_HIGH_WATER_BYTES
        assert fleet.owner.relay.buffered_bytes() > len(records) // 2
        assert fleet.owner.relay.budget.held_bytes > len(records) // 2
        length = int.from_bytes(await client.read_exactly(4), "big")
        assert fetched(await client.read_exactly(length)) == (7, records)
        client.close()


async def test_a_client_that_goes_lets_the_peer_release_what_it_held() -> None:
    async with Fleet() as fleet:
        # Given
        _, writer = await fleet.process.connect()
        writer.write(fetch_of("far", 7))
        await fleet.owner.apis.was_asked.wait()

        # When
        writer.close()
        await fleet.owner.apis.was_closed.wait()

        # Then
        (context,) = fleet.owner.apis.contexts
        assert context.caller.is_gone
        assert fleet.owner.apis.closed == [context.connection_id]
        await until(lambda: fleet.process.twins.traffic.open_twins == 0)
        assert fleet.process.measured.of("relayed_requests", "ShareFetch", "given_up") == 1


async def test_what_a_client_had_sent_before_it_went_is_served_by_the_peer_all_the_same() -> None:
    """The leave of a member stands behind a heartbeat that is held, its last acknowledgements behind a fetch."""
    async with Fleet() as fleet:
        # Given
        _, writer = await fleet.process.connect()
        writer.write(heartbeat_of("far", 1) + heartbeat_of("far", 2) + acknowledgement_of("far", 3))
        await fleet.owner.apis.was_asked.wait()

        # When
        writer.close()
        await until(lambda: bool(fleet.owner.apis.forsaken))
        fleet.owner.apis.may_answer.set()
        await fleet.owner.apis.was_closed.wait()

        # Then
        assert [each.correlation_id for each in fleet.owner.apis.requests] == [1, 2, 3]


async def test_a_fetch_may_take_its_max_wait_longer() -> None:
    async with Fleet(limits=QUICK) as fleet:
        # Given
        (reader, writer), (_, impatient) = [await fleet.process.connect() for _ in range(2)]
        writer.write(fetch_of("far", 7, max_wait_ms=60_000))
        await fleet.owner.apis.was_asked.wait()

        # When
        impatient.write(fetch_of("far", 8))
        await until(lambda: fleet.process.measured.of("relayed_requests", "ShareFetch", "silent") == 1)
        fleet.owner.apis.may_answer.set()
        answer = await frame_from(reader)

        # Then
        assert number_of(answer) == 7
        for each in (writer, impatient):
            each.close()


@pytest.mark.parametrize("is_at_once", [False, True])
async def test_the_peer_hears_that_a_client_has_sent_something_behind_its_heartbeat(
    is_at_once: bool,  # noqa: FBT001 - parametrized
) -> None:
    async with Fleet() as fleet:
        # Given
        reader, writer = await fleet.process.connect()
        behind = heartbeat_of("far", 2) + fetch_of("far", 3)
        writer.write(heartbeat_of("far", 1) + (behind if is_at_once else b""))
        await fleet.owner.apis.was_asked.wait()

        # When
        writer.write(b"" if is_at_once else behind)
        await fleet.owner.apis.was_followed.wait()

        # Then
        assert fleet.owner.apis.contexts[0].caller.has_more
        fleet.owner.apis.may_answer.set()
        assert [number_of(await frame_from(reader)) for _ in range(3)] == [1, 2, 3]
        writer.close()


async def test_a_process_that_ends_hurries_what_its_peers_hold() -> None:
    async with Fleet() as fleet:
        # Given
        _, writer = await fleet.process.connect()
        writer.write(heartbeat_of("far", 1))
        await fleet.owner.apis.was_asked.wait()

        # When
        fleet.process.twins.hurry()

        # Then
        await fleet.owner.apis.was_followed.wait()
        writer.close()


async def test_a_group_that_came_back_in_the_meantime_is_served_here() -> None:
    async with Fleet() as fleet:
        # Given
        reader, writer = await fleet.process.connect()
        writer.write(request(1) + heartbeat_of("far", 2))
        await fleet.broker.until_received(len(request(1)))

        # When
        fleet.process.owners.by_group.clear()
        fleet.broker.send(response(1))
        answers = [await frame_from(reader) for _ in range(2)]

        # Then
        assert [number_of(answer) for answer in answers] == [1, 2]
        (context,) = fleet.process.apis.contexts
        assert context.refusal == ""
        writer.close()


async def test_a_broker_is_kept_awake_behind_a_long_wait_for_a_peer() -> None:
    async with Fleet(keepalive_ms=50) as fleet:
        # Given
        reader, writer = await fleet.process.connect()
        writer.write(fetch_of("far", 7))
        await fleet.owner.apis.was_asked.wait()
        keepalive = await fleet.broker.until_received(12)

        # When
        fleet.owner.apis.may_answer.set()
        answer = await frame_from(reader)

        # Then
        assert number_of(answer) == 7
        assert keepalive[4:6] == b"\x00\x12"
        writer.close()


async def test_what_passes_is_counted_in_both_processes() -> None:
    async with Fleet() as fleet:
        # Given
        fleet.owner.apis.may_answer.set()
        reader, writer = await fleet.process.connect()
        writer.write(fetch_of("far", 7))
        answer = await frame_from(reader)

        # When
        fleet.process.twins.report()

        # Then
        measured, size = fleet.process.measured, len(answer) + 4
        assert measured.of("peer_bytes", "relaying", "out") == len(fetch_of("far", 7))
        assert measured.of("peer_bytes", "relaying", "in") == size
        await until(lambda: fleet.owner.counted.of("peer_bytes", "serving", "out") == size)
        assert fleet.owner.counted.of("peer_bytes", "serving", "in") == len(fetch_of("far", 7))
        writer.close()


# ------------------------------------------------ what is asked, and answered decoded


def heartbeat(number: int) -> DecodedRequest:
    return DecodedRequest(76, 1, number, "client", ShareGroupHeartbeatRequest(group_id="far", member_id="m"))


def context(connection_id: int) -> RequestContext:
    return RequestContext(connection_id, 2, 76, 1, "client", "/10.0.0.1", "10.0.0.1:4711")


async def test_an_answer_is_returned_decoded() -> None:
    async with Fleet() as fleet:
        # Given
        fleet.owner.apis.may_answer.set()

        # When
        message = await fleet.process.twins.ask(fleet.owner.peer, heartbeat(3), context(5))

        # Then
        assert message == ShareGroupHeartbeatResponse(member_id="m")
        (told,) = fleet.owner.apis.contexts
        assert (told.peer, told.node_id, told.client_host) == ("10.0.0.1:4711", 2, "/10.0.0.1")


async def test_questions_of_one_connection_take_turns_on_one_connection() -> None:
    async with Fleet() as fleet:
        # Given
        fleet.owner.apis.may_answer.set()
        ask = fleet.process.twins.ask

        # When
        async with asyncio.TaskGroup() as group:
            for number in range(5):
                group.create_task(ask(fleet.owner.peer, heartbeat(number), context(-number)))

        # Then
        assert len(fleet.owner.apis.requests) == 5
        assert len(fleet.owner.relay.connections) == 1


async def test_a_question_of_a_client_that_went_leaves_no_connection_behind() -> None:
    class Gone:
        is_gone = True
        has_more = False

    async with Fleet() as fleet:
        # Given
        fleet.owner.apis.may_answer.set()

        # When
        await fleet.process.twins.ask(fleet.owner.peer, heartbeat(3), replace(context(5), caller=Gone()))

        # Then
        await until(lambda: fleet.process.twins.traffic.open_twins == 0)
        assert not fleet.process.twins._places


async def test_a_question_without_an_answer_is_refused_in_words() -> None:
    async with Fleet() as fleet:
        peer = replace(fleet.owner.peer, port=1)
        with pytest.raises(CoordinatorNotAvailable, match=r"^b, which serves it, gave no answer$"):
            await fleet.process.twins.ask(peer, heartbeat(3), context(5))


async def test_an_answer_that_is_none_is_refused_in_words() -> None:
    async with Fleet() as fleet, ScriptedPeer() as scripted:
        # Given
        question = ShareGroupDescribeRequest(group_ids=["g"])
        asked = DecodedRequest(77, 1, 4, "client", question)
        scripted.reply = response(4, b"nonsense")

        # When
        with pytest.raises(CoordinatorNotAvailable) as refused:
            await fleet.process.twins.ask(scripted.peer, asked, context(5))

        # Then
        assert str(refused.value) == "b, which serves it, gave no answer"


async def test_a_long_answer_is_decoded_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    threads: list[int] = []
    honest = codecs.decode_response

    def noted(api_key: int, version: int, frame: bytes) -> tuple[int, codecs.Message]:
        threads.append(threading.get_ident())
        return honest(api_key, version, frame)

    monkeypatch.setattr(codecs, "decode_response", noted)
    many = ListGroupsResponse(groups=[ListedGroup(f"group-{number}") for number in range(20_000)])
    few = ListGroupsResponse(groups=many.groups[:1])
    async with Fleet() as fleet, ScriptedPeer() as scripted:
        # When
        answers = []
        for number, told in enumerate((many, few)):
            scripted.reply = b"".join(codecs.encode_response(16, 5, number, told))
            asked = DecodedRequest(16, 5, number, "client", ListGroupsRequest())
            answers.append(await fleet.process.twins.ask(scripted.peer, asked, context(5 + number)))

    # Then
    assert answers == [many, few]
    assert [ident == threading.get_ident() for ident in threads] == [False, True]
