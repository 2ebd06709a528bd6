"""The internal port with mutual TLS, on real sockets: who is let in, and what becomes of everybody else."""

import asyncio
import logging
import socket
from contextlib import suppress
from typing import Any

import pytest

from kproxy.fleet.peer_hello import Purpose
from kproxy.net.broker_failures import PeerFailure
from kproxy.net.peers.peer_dialler import Visit
from kproxy.net.peers.peer_limits import PeerLimits
from tests.event_loops import BOTH_LOOPS
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.unit.net.peering import (
    SECRET,
    OwnerUnderTest,
    RelayingProcess,
    dialler,
    fetch_of,
    fetched,
    frame_from,
    heartbeat_of,
)
from tests.unit.net.relaying import BIND_HOST, ended
from tests.unit.net.tls_contexts import Fixed, FleetTls, fleet_tls, nameless_in_fleet
from tests.worlds.waiting import until

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
OURS = fleet_tls()


async def visit(owner: OwnerUnderTest, tls: FleetTls | None = OURS, **parameters: Any) -> None:
    """See whether a peer welcomes a process of these `parameters`. Raises PeerFailure."""
    own = None if tls is None else tls.dialling
    (await dialler(tls=own, **parameters).open(owner.peer, Purpose.REACH, Visit)).leave()


async def connected(owner: OwnerUnderTest, tls: Fixed) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return a connection that has shaken hands."""
    port = owner.listener.port
    return await asyncio.open_connection(BIND_HOST, port, ssl=tls.context, server_hostname="kproxy")


async def test_whoever_has_a_certificate_of_the_fleet_is_welcome_without_a_secret() -> None:
    async with OwnerUnderTest(tls=OURS) as owner:
        await visit(owner, fleet_tls("another"))

        assert not owner.counted.counts


async def test_with_a_certificate_the_secret_counts_all_the_same() -> None:
    async with OwnerUnderTest(tls=OURS, secret=SECRET) as owner:
        await visit(owner, secret=SECRET)

        with pytest.raises(PeerFailure, match="it does not know the secret"):
            await visit(owner, secret=b"another secret, long enough")
        with pytest.raises(PeerFailure, match="it asks for a secret"):
            await visit(owner)


async def test_with_certificates_other_machines_may_reach_it_without_a_secret() -> None:
    async with OwnerUnderTest(tls=OURS, bind_host="0.0.0.0") as owner:
        await visit(owner)


@pytest.mark.parametrize(
    ("stranger", "reason", "words"),
    [
        (fleet_tls("stranger", by="strangers").dialling, "certificate_untrusted", "is not trusted"),
        (nameless_in_fleet(), "certificate_missing", "it showed no certificate"),
        (None, "plaintext_on_tls", "it sent plaintext"),
    ],
)
async def test_who_has_no_certificate_of_the_fleet_is_refused_named_and_counted(
    stranger: Fixed | None, reason: str, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with OwnerUnderTest(tls=OURS) as owner:
        # When
        with pytest.raises(PeerFailure, match=r"^b at 127.0.0.1:\d+: ") as failed:
            await dialler(tls=stranger).open(owner.peer, Purpose.REACH, Visit)

        # Then
        await until(lambda: owner.counted.of("peer_refusals", reason) == 1)
        (line,) = [record for record in caplog.records if record.msg == "peer_refused"]
        keys = line.__dict__["event_keys"]
        assert keys["peer"].startswith("127.0.0.1:")
        assert words in str(keys["err"])
        assert "kproxy.fleet.ssl" in str(keys["err"])
        assert "kproxy.fleet.ssl" in str(failed.value)
        assert not owner.listener._unproved
        await visit(owner)


async def test_a_listener_of_another_authority_is_refused_by_who_dials_it() -> None:
    stranger = fleet_tls("stranger", by="strangers")
    async with OwnerUnderTest(tls=stranger) as owner:
        with pytest.raises(PeerFailure, match=r"its certificate is not trusted: .*truststore") as failed:
            await visit(owner)

        assert failed.value.reason == "certificate_untrusted"
        await until(lambda: owner.counted.of("peer_refusals", "certificate_refused") == 1)


async def test_a_listener_in_plaintext_is_refused_by_who_dials_it_with_tls() -> None:
    async with OwnerUnderTest() as owner:
        with pytest.raises(PeerFailure, match="it may speak plaintext") as failed:
            await visit(owner)

        assert failed.value.reason == "handshake_abandoned"
        assert owner.counted.of("peer_refusals", "no_kproxy") == 1


async def test_the_next_connection_is_judged_by_the_newest_certificates() -> None:
    class Renewed:
        context = OURS.context

    renewed, later = Renewed(), fleet_tls("later", by="later", trusts="later")
    async with OwnerUnderTest(tls=renewed) as owner:
        await visit(owner)

        # When
        renewed.context = later.context

        # Then
        await visit(owner, later)
        with pytest.raises(PeerFailure):
            await visit(owner, OURS)


@pytest.mark.parametrize("first_bytes", [b"", b"\x16\x03\x01\x02\x00\x01"])
async def test_a_handshake_has_the_time_of_the_preamble(first_bytes: bytes) -> None:
    async with OwnerUnderTest(tls=OURS, limits=PeerLimits(preamble_ms=50)) as owner:
        reader, writer = await asyncio.open_connection(BIND_HOST, owner.listener.port)
        writer.write(first_bytes)

        with suppress(ConnectionError):
            await ended(reader)

        assert owner.counted.of("peer_refusals", "slow") == 1
        assert not owner.listener._unproved
        writer.close()


async def test_who_says_nothing_behind_its_handshake_is_told_and_closed() -> None:
    async with OwnerUnderTest(tls=OURS, limits=PeerLimits(preamble_ms=500)) as owner:
        reader, writer = await connected(owner, OURS.dialling)

        assert b"did not say who it is within 500 ms" in await ended(reader)

        assert owner.counted.of("peer_refusals", "slow") == 1
        writer.close()


async def test_of_too_many_in_their_handshake_the_oldest_makes_room() -> None:
    async with OwnerUnderTest(tls=OURS, limits=PeerLimits(most_unproved=2)) as owner:
        # Given
        silent = []
        for number in (1, 2):
            silent.append(await asyncio.open_connection(BIND_HOST, owner.listener.port))
            await until(lambda count=number: len(owner.listener._unproved) == count)  # type: ignore[misc]

        # When
        await visit(owner)

        # Then
        with suppress(ConnectionError):
            assert await ended(silent[0][0]) == b""
        assert owner.counted.of("peer_refusals", "crowded") == 1
        for _, writer in silent:
            writer.close()


async def test_a_process_that_ends_cuts_off_handshakes_and_frees_its_port() -> None:
    async with OwnerUnderTest(tls=OURS) as owner:
        port = owner.listener.port
        reader, writer = await asyncio.open_connection(BIND_HOST, port)
        await until(lambda: len(owner.listener._unproved) == 1)

        owner.listener.stop_accepting()

        with suppress(ConnectionError):
            assert await ended(reader) == b""
        with socket.create_server((BIND_HOST, port)):
            pass
        writer.close()


async def test_a_request_is_relayed_over_tls_and_its_client_s_end_reaches_the_owner() -> None:
    async with (
        ScriptedBroker() as broker,
        OwnerUnderTest(tls=OURS) as owner,
        RelayingProcess(broker.port, tls=fleet_tls("another").dialling) as process,
    ):
        process.owners.by_group["far"] = owner.peer
        owner.apis.may_answer.set()
        reader, writer = await process.connect()

        # When
        writer.write(fetch_of("far", 7))

        # Then
        async with asyncio.timeout(5):
            assert fetched(await frame_from(reader))[0] == 7
        assert len(owner.relay.connections) == 1
        writer.close()
        await until(lambda: not owner.relay.connections and not process.twins.traffic.open_twins)


async def test_what_a_client_sent_before_it_went_is_served_by_the_owner() -> None:
    async with (
        ScriptedBroker() as broker,
        OwnerUnderTest(tls=OURS) as owner,
        RelayingProcess(broker.port, tls=OURS.dialling) as process,
    ):
        process.owners.by_group["far"] = owner.peer
        _, writer = await process.connect()

        # When
        writer.write(heartbeat_of("far", 7))
        writer.close()

        # Then
        await owner.apis.was_asked.wait()
        owner.apis.may_answer.set()
        await until(lambda: not owner.relay.connections)
