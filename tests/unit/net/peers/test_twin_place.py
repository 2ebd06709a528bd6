"""The way from one client connection to one peer: dialled when it is needed, and given up at any moment."""

import asyncio
from dataclasses import replace
from typing import cast

import pytest

from kproxy.fleet.owners import Peer
from kproxy.handlers.request_context import RequestContext
from kproxy.net.broker_failures import PeerFailure
from kproxy.net.peers.peer_twin import PeerTwin
from kproxy.net.peers.twin_place import TwinPlace
from kproxy.security.principal import KPROXY, UNKNOWN, Principal
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from tests.unit.net.peering import Fleet, frame_from, heartbeat_of
from tests.worlds.waiting import until_all_wait

PEER = Peer("token-b", "b", "127.0.0.1", 19_099)


class ScriptedTwin:
    """A connection that is open until the test says otherwise."""

    def __init__(self) -> None:
        self.is_open = True
        self.calls: list[str] = []

    def close(self) -> None:
        self.calls.append("close")

    def fail(self, reason: str, _detail: str) -> None:
        self.calls.append(reason)

    def fail_behind_answer(self, reason: str, _detail: str) -> None:
        self.calls.append(f"{reason} behind answer")

    def say_more(self) -> None:
        self.calls.append("more")


class ScriptedDials:
    """Dials that succeed when `may_succeed` is set."""

    def __init__(self) -> None:
        self.twins: list[ScriptedTwin] = []
        self.may_succeed = asyncio.Event()
        self.was_cancelled = False

    async def dial(self) -> PeerTwin:
        """Return another connection."""
        try:
            await self.may_succeed.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        self.twins.append(ScriptedTwin())
        return cast("PeerTwin", self.twins[-1])


async def test_a_connection_is_kept_as_long_as_it_is_open() -> None:
    dials = ScriptedDials()
    dials.may_succeed.set()
    place = TwinPlace(PEER, dials.dial)

    first, second = await place.twin(), await place.twin()
    dials.twins[0].is_open = False
    third = await place.twin()

    assert first is second is not third
    assert len(dials.twins) == 2


@pytest.mark.parametrize("is_failure", [False, True])
async def test_who_waits_for_a_dial_hears_at_once_that_it_was_given_up(is_failure: bool) -> None:  # noqa: FBT001 - parametrized
    dials = ScriptedDials()
    place = TwinPlace(PEER, dials.dial)

    async def give_up() -> None:
        await until_all_wait()
        place.fail("departed", "is gone") if is_failure else place.close()

    async with asyncio.TaskGroup() as group:
        group.create_task(give_up())
        with pytest.raises(PeerFailure, match="b is not asked any more"):
            await place.twin()

    assert dials.was_cancelled


@pytest.mark.parametrize("is_failure", [False, True])
async def test_a_dial_that_succeeds_in_the_turn_in_which_it_is_given_up_leaves_no_connection(
    is_failure: bool,  # noqa: FBT001 - parametrized
) -> None:
    # Given
    dialled = asyncio.get_running_loop().create_future()

    async def dial() -> PeerTwin:
        return cast("PeerTwin", await dialled)

    place, twin = TwinPlace(PEER, dial), ScriptedTwin()

    async def give_up() -> None:
        await until_all_wait()
        dialled.set_result(twin)
        place.fail("departed", "is gone") if is_failure else place.close()

    # When
    async with asyncio.TaskGroup() as group:
        group.create_task(give_up())
        with pytest.raises(PeerFailure, match="b is not asked any more"):
            await place.twin()

    # Then
    assert twin.calls == ["departed" if is_failure else "close"]


async def test_what_was_given_up_is_not_dialled_again() -> None:
    dials = ScriptedDials()
    dials.may_succeed.set()
    place = TwinPlace(PEER, dials.dial)
    place.close()

    with pytest.raises(PeerFailure, match="b is not asked any more"):
        await place.twin()

    assert not dials.twins


async def test_what_the_connection_is_to_hear_it_hears() -> None:
    dials = ScriptedDials()
    dials.may_succeed.set()
    place = TwinPlace(PEER, dials.dial)
    place.say_more()
    await place.twin()

    place.say_more()
    place.fail_behind_answer("departed", "is gone")
    place.fail("departed", "is gone")
    place.close()

    assert dials.twins[0].calls == ["more", "departed behind answer", "departed", "close"]


async def test_a_dial_that_fails_says_why_and_the_next_one_is_made() -> None:
    failures = [PeerFailure("unreachable", "b cannot be reached")]
    twin = cast("PeerTwin", ScriptedTwin())

    async def dial() -> PeerTwin:
        if failures:
            raise failures.pop()
        return twin

    place = TwinPlace(PEER, dial)
    with pytest.raises(PeerFailure, match="b cannot be reached"):
        await place.twin()

    assert await place.twin() is twin


# ------------------------------------------------ who the client is


HEARTBEAT = DecodedRequest(76, 1, 3, "client", ShareGroupHeartbeatRequest(group_id="far", member_id="m"))
CONTEXT = RequestContext(5, 2, 76, 1, "client", "/10.0.0.1", "10.0.0.1:4711")


async def test_a_client_that_is_somebody_else_now_goes_on_under_its_new_name_alone() -> None:
    async with Fleet() as fleet:
        # Given
        fleet.owner.apis.may_answer.set()
        reader, writer = await fleet.process.connect()
        (client,) = fleet.process.relay.connections
        for number, name in enumerate(("alice", "alice", "bob")):
            client.session.principal = Principal("User", name)

            # When
            writer.write(heartbeat_of("far", number))
            await frame_from(reader)

        # Then
        first, second, third = fleet.owner.apis.contexts
        assert [each.principal.name for each in (first, second, third)] == ["alice", "alice", "bob"]
        assert first.connection_id == second.connection_id != third.connection_id
        writer.close()


async def test_the_peer_is_told_who_asks_also_when_it_is_asked_for_a_part() -> None:
    async with Fleet() as fleet:
        # Given
        fleet.owner.apis.may_answer.set()

        # When
        for each in (principals := [Principal("User", "CN=a:b"), UNKNOWN, KPROXY]):
            await fleet.process.twins.ask(fleet.owner.peer, HEARTBEAT, replace(CONTEXT, principal=each))

        # Then
        assert [each.principal for each in fleet.owner.apis.contexts] == principals
