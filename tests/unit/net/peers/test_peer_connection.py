"""A client of another process is served as one of one's own, with what is about share groups alone."""

import asyncio
from collections.abc import Sequence

import pytest

from kproxy.fleet.peer_hello import Purpose, RelayedClient
from kproxy.interception.routing import Disposition
from kproxy.net.peers.peer_connection import PeerConnection, PeerRoutes
from kproxy.net.peers.peer_twin import MORE_API_KEY, PeerTwin
from kproxy.security.principal import ANONYMOUS
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.metadata_request import MetadataRequest
from tests.event_loops import BOTH_LOOPS
from tests.unit.net.peering import (
    OwnerUnderTest,
    TakenAnswer,
    a_twin,
    dialler,
    fetch_of,
    heartbeat_of,
    share_entries,
)
from tests.unit.net.relaying import share_search
from tests.worlds.waiting import until

CLIENT = RelayedClient(3, "10.0.0.1:4711", "User:ANONYMOUS", 17)


async def connected(owner: OwnerUnderTest) -> PeerTwin:
    """Return a connection to `owner` for `CLIENT`."""
    return await dialler().open(owner.peer, Purpose.REQUESTS, a_twin, client=CLIENT)


def asked(twin: PeerTwin, request: bytes | Sequence[bytes | memoryview], number: int) -> TakenAnswer:
    """Ask, and return where the answer will be."""
    answer = TakenAnswer()
    twin.ask([request] if isinstance(request, bytes) else request, answer, correlation_id=number)
    return answer


def unread(owner: OwnerUnderTest) -> list[PeerConnection]:
    """Return the connections of which nothing is read."""
    connections = [each for each in owner.relay.connections if isinstance(each, PeerConnection)]
    return [each for each in connections if each.transport is not None and not each.transport.is_reading()]


def test_all_apis_about_share_groups_are_served_and_nothing_else_is_known() -> None:
    routes = PeerRoutes(share_entries())
    keys = {key for key, _ in routes.rows()}

    assert {ApiKey.SHARE_FETCH, ApiKey.SHARE_GROUP_DESCRIBE, ApiKey.DELETE_GROUPS, ApiKey.LIST_GROUPS} <= keys
    assert {each for (key, _), each in routes.rows().items() if key != MORE_API_KEY} == {Disposition.SERVE}
    for key, version in [(ApiKey.METADATA, 12), (ApiKey.PRODUCE, 9), (ApiKey.SHARE_FETCH, 0)]:
        assert routes.disposition(key, version) is Disposition.REFUSE


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_a_request_has_the_virtual_broker_and_the_address_of_the_client() -> None:
    async with OwnerUnderTest() as owner:
        # Given
        owner.apis.may_answer.set()
        twin = await connected(owner)

        # When
        answer = asked(twin, heartbeat_of("g", 7), 7)
        await until(lambda: bool(answer.ended))

        # Then
        (context,) = owner.apis.contexts
        assert (context.node_id, context.peer, context.client_host) == (3, "10.0.0.1:4711", "/10.0.0.1")
        twin.abort()


async def test_its_connection_id_is_one_of_this_process() -> None:
    async with OwnerUnderTest() as owner:
        # Given
        owner.apis.may_answer.set()
        twins = [await connected(owner) for _ in range(2)]

        # When
        answers = [asked(twin, heartbeat_of("g", 7), 7) for twin in twins]
        await until(lambda: all(answer.ended for answer in answers))

        # Then
        assert {context.connection_id for context in owner.apis.contexts} == {1, 2}
        for twin in twins:
            twin.abort()


async def test_of_an_api_that_brokers_answer_too_the_part_about_share_groups_is_served() -> None:
    async with OwnerUnderTest() as owner:
        # Given
        twin = await connected(owner)
        request = codecs.encode_request(42, 2, 7, "client", DeleteGroupsRequest(groups_names=["g"]))

        # When
        asked(twin, request, 7)
        await owner.apis.was_asked.wait()

        # Then
        assert owner.apis.requests[0].message == DeleteGroupsRequest(groups_names=["g"])
        twin.abort()


@pytest.mark.parametrize(
    ("request_bytes", "reason"),
    [
        (b"".join(codecs.encode_request(3, 12, 7, "client", MetadataRequest())), "unknown_api_key"),
        (fetch_of("g", 7)[:20] + b"\xff" * (len(fetch_of("g", 7)) - 20), "malformed_request"),
    ],
)
async def test_what_no_peer_asks_ends_its_connection(request_bytes: bytes, reason: str) -> None:
    async with OwnerUnderTest() as owner:
        twin = await connected(owner)

        asked(twin, request_bytes, 7)

        await until(lambda: not owner.relay.connections)
        assert owner.counted.of("connection_errors", "client", reason) == 1


async def test_a_frame_that_stalls_ends_its_connection() -> None:
    async with OwnerUnderTest(frame_deadline_ms=50) as owner:
        twin = await connected(owner)

        asked(twin, fetch_of("g", 7)[:20], 7)

        await until(lambda: not owner.relay.connections)
        assert owner.counted.of("connection_errors", "peer", "frame_stalled") == 1


async def test_an_idle_connection_is_closed_as_brokers_close_theirs() -> None:
    async with OwnerUnderTest(client_idle_ms=400) as owner:
        # Given
        owner.apis.may_answer.set()
        twin = await connected(owner)
        answer = asked(twin, heartbeat_of("g", 7), 7)
        await until(lambda: bool(answer.ended))

        # When
        await owner.apis.was_closed.wait()

        # Then
        await until(lambda: not twin.is_open)
        assert not owner.counted.of("connection_errors", "peer", "stands_still")


async def test_a_connection_that_waits_for_its_answer_is_not_idle() -> None:
    async with OwnerUnderTest(client_idle_ms=400) as owner:
        # Given
        waiting, idle = await connected(owner), await connected(owner)
        answer = asked(waiting, heartbeat_of("g", 7), 7)

        # When
        await until(lambda: not idle.is_open)
        owner.apis.may_answer.set()

        # Then
        await until(lambda: bool(answer.ended))
        waiting.abort()


async def test_a_connection_that_waited_long_for_its_answer_is_not_idle_when_it_has_it() -> None:
    async with OwnerUnderTest() as owner:
        # Given
        twin = await connected(owner)
        answer = asked(twin, heartbeat_of("g", 7), 7)
        await owner.apis.was_asked.wait()
        (connection,) = owner.relay.connections
        asked_ms = int(asyncio.get_running_loop().time() * 1000)
        # The answer is later than the question: time itself is what this is about.
        await asyncio.sleep(0.2)
        owner.apis.may_answer.set()
        await until(lambda: bool(answer.ended))

        # When
        connection.sweep(asked_ms + owner.relay.limits.client_idle_ms + 100)

        # Then
        assert not getattr(connection, "transport").is_closing()  # noqa: B009
        twin.abort()


async def test_a_request_that_waits_for_room_neither_stalls_nor_is_idle() -> None:
    async with OwnerUnderTest(budget_bytes=150_000) as owner:
        # Given
        twins = [await connected(owner) for _ in range(2)]
        for twin in twins:
            asked(twin, share_search(1)[:200_000], 1)
        await until(lambda: len(unread(owner)) == 1)
        (waiting,) = unread(owner)

        # When
        limits = owner.relay.limits
        past_all_ms = 11 * limits.frame_deadline_ms + 2 * limits.client_idle_ms
        waiting.sweep(int(asyncio.get_running_loop().time() * 1000) + past_all_ms)

        # Then
        assert not owner.counted.of("connection_errors", "peer", "frame_stalled")
        assert not getattr(waiting, "transport").is_closing()  # noqa: B009
        for twin in twins:
            twin.abort()


async def test_what_a_client_had_left_is_served_as_such_and_what_it_sent_before_is_not() -> None:
    async with OwnerUnderTest() as owner:
        # Given
        owner.apis.may_answer.set()
        twin = await connected(owner)
        answer = asked(twin, heartbeat_of("g", 1), 1)
        await until(lambda: bool(answer.ended))
        was_gone_before = owner.apis.contexts[0].caller.is_gone

        # When
        twin.send_left([fetch_of("g", 2)])
        twin.send_left([heartbeat_of("g", 3)])
        await until(lambda: len(owner.apis.requests) == 3)

        # Then
        assert not was_gone_before
        assert [context.caller.is_gone for context in owner.apis.contexts[1:]] == [True, True]
        assert owner.relay.connections, "that the connection ends is no news any more"
        twin.abort()


async def test_it_waits_for_room_as_the_client_of_that_host_and_not_as_all_of_the_other_process() -> None:
    async with OwnerUnderTest() as owner:
        twin = await connected(owner)
        asked(twin, share_search(1)[:400_000], 1)

        await until(lambda: any(connection.buffered_bytes for connection in owner.relay.connections))
        (connection,) = owner.relay.connections

        assert getattr(connection, "holder").client == ("10.0.0.1", ANONYMOUS)  # noqa: B009
        twin.abort()
