"""Who dials says who it is, takes its time within bounds, and leaves nothing behind."""

import asyncio
from dataclasses import replace
from typing import cast

import pytest

from kproxy.errors import PeerRefused
from kproxy.fleet.member_metadata import MemberProfile
from kproxy.fleet.owners import Peer
from kproxy.fleet.peer_hello import Purpose
from kproxy.fleet.peer_preamble import refusal_frame
from kproxy.net.broker_failures import PeerFailure
from kproxy.net.fleet.reach import ReachCheck
from kproxy.net.peers.peer_dialler import PeerDialler, Visit
from kproxy.net.peers.peer_limits import PeerLimits
from tests.event_loops import BOTH_LOOPS
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.unit.net.peering import OwnerUnderTest, dialler
from tests.unit.net.relaying import BIND_HOST
from tests.worlds.waiting import until

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
QUICK = PeerLimits(preamble_ms=50)


def at(port: int) -> Peer:
    return Peer("token-b", "b", BIND_HOST, port)


async def test_who_says_nothing_is_left_after_a_while() -> None:
    async with ScriptedBroker() as mute:
        with pytest.raises(PeerFailure, match=r"^b at 127.0.0.1:\d+ said no welcome within 50 ms$") as failed:
            await dialler(limits=QUICK).open(at(mute.port), Purpose.REACH, Visit)

        assert failed.value.reason == "slow"
        await until(lambda: mute.ended_count == 1)


async def test_only_so_many_connections_to_one_peer_are_in_the_making_at_a_time() -> None:
    """The others wait behind them: its listener has room for so many only."""
    limits = PeerLimits(connect_timeout_ms=400, preamble_ms=800, most_dials=3)
    async with ScriptedBroker() as mute:
        dials = dialler(limits=limits)

        failures = await asyncio.gather(
            *(dials.open(at(mute.port), Purpose.REACH, Visit) for _ in range(5)), return_exceptions=True
        )

        assert len(mute.writers) == 3
        assert [cast("PeerFailure", each).reason for each in failures] == ["slow"] * 3 + ["crowded"] * 2
        assert "b: 3 other dials of 127.0.0.1" in str(failures[-1])


@pytest.mark.parametrize(
    ("reply", "reason"),
    [(b"HTTP/1.1 400 Bad Request\r\n\r\n", "malformed"), (bytes(8), "malformed"), (b"", "lost")],
)
async def test_what_is_no_internal_listener_is_named(reply: bytes, reason: str) -> None:
    async with ScriptedBroker(lambda _: reply) as other:
        dialling = dialler().open(at(other.port), Purpose.REACH, Visit)

        async def leave() -> None:
            await other.until_received(8)
            if not reply:
                other.writers[0].close()

        with pytest.raises(PeerFailure, match=r"^b at 127.0.0.1:\d+: ") as failed:
            await asyncio.gather(dialling, leave())

        assert failed.value.reason == reason


async def test_a_reason_that_nobody_knows_is_counted_as_a_refusal() -> None:
    """It is a label of a metric: whoever answers there must not make new ones."""
    told = refusal_frame(PeerRefused("reason 4711", "because"))
    async with ScriptedBroker(lambda _: told) as other:
        with pytest.raises(PeerFailure, match="it refuses: because") as failed:
            await dialler().open(at(other.port), Purpose.REACH, Visit)

    assert failed.value.reason == "refused"


async def test_a_process_that_does_not_know_its_cluster_dials_nobody() -> None:
    with pytest.raises(PeerFailure, match="does not know yet which cluster") as failed:
        await PeerDialler(lambda: None, None, QUICK).open(at(1), Purpose.REACH, Visit)

    assert failed.value.reason == "starting"


async def test_who_is_cancelled_while_it_dials_leaves_no_connection_behind() -> None:
    async with ScriptedBroker() as mute:
        dialling = asyncio.ensure_future(  # noqa: TID251 - awaited below
            dialler().open(at(mute.port), Purpose.REACH, Visit)
        )
        await mute.until_connections(1)
        dialling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await dialling

        await until(lambda: mute.ended_count == 1)


async def test_members_that_do_not_welcome_this_process_are_found_out_when_they_join() -> None:
    async with OwnerUnderTest("near") as near, OwnerUnderTest("strange") as strange:
        # Given
        assert strange.identity is not None
        strange.identity = replace(strange.identity, cluster_id="cluster-2")
        profiles = {
            owner.peer.name: MemberProfile(
                owner.peer.token, owner.peer.name, BIND_HOST, owner.listener.port, "1.0", 2, 16
            )
            for owner in (near, strange)
        }

        # When
        unreachable = await ReachCheck("token-a", dialler().visit).unreachable(profiles)

        # Then
        assert set(unreachable) == {"strange"}
        assert "its cluster is cluster-1, that of strange is cluster-2" in unreachable["strange"]
        assert not near.relay.connections
