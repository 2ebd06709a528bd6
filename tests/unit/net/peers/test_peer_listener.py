"""The internal port: who is let in, and what becomes of everybody else."""

import asyncio
import logging
from dataclasses import replace
from typing import Any

import pytest

from kproxy.errors import PeerRefused
from kproxy.fleet.owners import Peer
from kproxy.fleet.peer_handshake import Credentials, DiallerHandshake
from kproxy.fleet.peer_hello import NONCE_BYTES, Hello, Purpose
from kproxy.net.broker_failures import PeerFailure
from kproxy.net.peers.peer_dialler import Visit
from kproxy.net.peers.peer_limits import PeerLimits
from kproxy.net.peers.peer_listener import MOST_REMEMBERED
from kproxy.net.peers.secret import SecretUnusable
from kproxy.net.relay.listeners import PortUnavailable
from kproxy.settings import HostPort
from tests.event_loops import BOTH_LOOPS
from tests.unit.net.peering import IDENTITY, IDENTITY_B, SECRET, OwnerUnderTest, a_twin, dialler
from tests.unit.net.relaying import BIND_HOST, ended
from tests.worlds.waiting import until

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)


async def visit(peer: Peer, **parameters: Any) -> None:
    """See whether a peer welcomes a process of these `parameters`. Raises PeerFailure."""
    (await dialler(**parameters).open(peer, Purpose.REACH, Visit)).leave()


@pytest.mark.parametrize("secret", [None, SECRET])
async def test_a_process_of_the_same_fleet_is_welcome(secret: bytes | None) -> None:
    async with OwnerUnderTest(secret=secret) as owner:
        await visit(owner.peer, secret=secret)

        assert not owner.counted.counts


@pytest.mark.parametrize(
    ("difference", "reason", "words"),
    [
        ({"secret": b"another secret, long enough"}, "secret", "it does not know the secret"),
        ({"secret": None}, "secret", "it asks for a secret, and this process has none"),
        ({"cluster_id": "cluster-2"}, "cluster", "its cluster is cluster-2, that of b is cluster-1"),
        ({"state_topic": "states"}, "state_topic", "its state topic is states"),
        ({"state_format_version": 1}, "state_format", "its state log format is 1, that of b is 2"),
        ({"slot_count": 4}, "slot_count", "its number of slots is 4"),
        ({"fleet_group": "another"}, "fleet_group", "its kproxy.fleet.group is another"),
    ],
)
async def test_who_is_none_of_the_fleet_is_told_why(
    difference: dict[str, Any], reason: str, words: str
) -> None:
    async with OwnerUnderTest(secret=SECRET) as owner:
        with pytest.raises(PeerFailure, match=words) as refused:
            await visit(owner.peer, **{"secret": SECRET, **difference})

        assert refused.value.reason == reason
        await visit(owner.peer, secret=SECRET)


async def test_who_is_refused_is_named_in_the_log_once_and_counted_each_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    async with OwnerUnderTest() as owner:
        for _ in range(3):
            with pytest.raises(PeerFailure):
                await visit(owner.peer, cluster_id="cluster-2", name="kproxy of another cluster")

        assert owner.counted.of("peer_refusals", "cluster") == 3
        (line,) = [record for record in caplog.records if record.msg == "peer_refused"]
        keys = line.__dict__["event_keys"]
        assert keys["name"] == "kproxy of another cluster"
        assert str(keys["err"]) == "its cluster is cluster-2, that of b is cluster-1"


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "no_kproxy"),
        (b"\x00\x00\x00\x20\x00\x12\x00\x04\x00\x00\x00\x01", "no_kproxy"),
        (b"kproxy\x00\x07", "protocol"),
        (b"kproxy\x00\x01\x7f\xff\xff\xff", "malformed"),
        (b"kproxy\x00\x01\x00\x00\x00\x03\x01\x00\x00", "malformed"),
    ],
)
async def test_who_speaks_something_else_is_closed_and_counted(sent: bytes, reason: str) -> None:
    async with OwnerUnderTest() as owner:
        reader, writer = await asyncio.open_connection(BIND_HOST, owner.listener.port)
        writer.write(sent)

        answer = await ended(reader)

        assert owner.counted.of("peer_refusals", reason) == 1
        assert bool(answer) is (reason != "no_kproxy")
        await visit(owner.peer)
        writer.close()


async def test_who_says_nothing_is_closed_after_a_while() -> None:
    async with OwnerUnderTest(limits=PeerLimits(preamble_ms=30)) as owner:
        reader, writer = await asyncio.open_connection(BIND_HOST, owner.listener.port)

        await ended(reader)

        assert owner.counted.of("peer_refusals", "slow") == 1
        writer.close()


async def silent(owner: OwnerUnderTest, number: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return a connection that says nothing, received as the one of this number."""
    connection = await asyncio.open_connection(BIND_HOST, owner.listener.port)
    await until(lambda: len(owner.listener._unproved) == number)
    return connection


async def test_of_too_many_who_have_yet_to_say_who_they_are_the_oldest_makes_room() -> None:
    async with OwnerUnderTest(limits=PeerLimits(most_unproved=2)) as owner:
        # Given
        (reader, oldest), (_, other) = [await silent(owner, number) for number in (1, 2)]

        # When
        await visit(owner.peer)

        # Then
        assert b"more than 2 have yet to say who they are" in await ended(reader)
        assert owner.counted.of("peer_refusals", "crowded") == 1
        assert len(owner.listener._unproved) == 1
        for writer in (oldest, other):
            writer.close()


@pytest.mark.parametrize("has_a_silent_one", [False, True])
async def test_who_has_said_who_it_is_makes_room_last(has_a_silent_one: bool) -> None:  # noqa: FBT001 - parametrized
    async with OwnerUnderTest(secret=SECRET, limits=PeerLimits(most_unproved=2)) as owner:
        # Given
        reader, oldest = await silent(owner, 1)
        own = Credentials(IDENTITY, bytes(NONCE_BYTES), SECRET)
        oldest.write(DiallerHandshake(own, Hello(Purpose.REACH, IDENTITY, own.nonce)).begin())
        assert await reader.read(1 << 16)
        other_reader, other = await silent(owner, 2)
        if not has_a_silent_one:
            other.write(DiallerHandshake(own, Hello(Purpose.REACH, IDENTITY, own.nonce)).begin())
            assert await other_reader.read(1 << 16)

        # When
        await dialler(secret=SECRET).open(owner.peer, Purpose.REACH, Visit)

        # Then
        assert b"more than 2" in await ended(other_reader if has_a_silent_one else reader)
        assert len(owner.listener._unproved) == 1
        for writer in (oldest, other):
            writer.close()


async def test_while_a_process_does_not_know_its_cluster_it_says_so() -> None:
    async with OwnerUnderTest() as owner:
        # Given
        peer, owner.identity = owner.peer, None

        # When
        with pytest.raises(PeerFailure, match="does not know yet which cluster it belongs to") as refused:
            await visit(replace(peer, token=IDENTITY_B.token))

        # Then
        assert refused.value.reason == "starting"


async def test_a_connection_that_was_welcome_is_bound_by_the_time_of_its_preamble_no_more() -> None:
    async with OwnerUnderTest(limits=PeerLimits(preamble_ms=500)) as owner:
        # Given
        welcome = await dialler().open(owner.peer, Purpose.REQUESTS, a_twin)
        reader, writer = await asyncio.open_connection(BIND_HOST, owner.listener.port)

        # When
        await ended(reader)

        # Then
        assert owner.counted.of("peer_refusals", "slow") == 1
        assert welcome.is_open
        welcome.abort()
        writer.close()


async def test_without_a_secret_nobody_else_must_reach_it() -> None:
    owner = OwnerUnderTest()
    with pytest.raises(SecretUnusable, match=r"kproxy.fleet.listener is 0.0.0.0:0"):
        await owner.listener.bind(HostPort("0.0.0.0", 0))


async def test_a_port_that_is_taken_is_named() -> None:
    async with OwnerUnderTest() as owner:
        taken = HostPort(BIND_HOST, owner.listener.port)
        with pytest.raises(
            PortUnavailable, match=r"cannot listen on 127.0.0.1:\d+: .*change kproxy.fleet.listener"
        ):
            await OwnerUnderTest().listener.bind(taken)


async def test_who_was_refused_is_remembered_within_bounds() -> None:
    async with OwnerUnderTest() as owner:
        for number in range(2 * MOST_REMEMBERED):
            owner.listener.note_refused(f"10.0.0.{number}:1", None, PeerRefused("slow", "slow"))

        assert len(owner.listener._told) == MOST_REMEMBERED
