"""The preamble on a real socket, however its bytes are cut: tests/unit/net/peers/test_peer_listener.py has the rest."""

import asyncio
from dataclasses import replace

import pytest

from kproxy.fleet.peer_handshake import Credentials, DiallerHandshake
from kproxy.fleet.peer_hello import NONCE_BYTES, Hello, Purpose
from tests.event_loops import BOTH_LOOPS
from tests.unit.net.peering import IDENTITY, SECRET, OwnerUnderTest, heartbeat_of
from tests.unit.net.relaying import BIND_HOST, ended
from tests.worlds.waiting import until

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)


def handshake(purpose: Purpose, secret: bytes | None) -> DiallerHandshake:
    own = Credentials(replace(IDENTITY), bytes(NONCE_BYTES), secret)
    return DiallerHandshake(own, Hello(purpose, own.identity, own.nonce))


async def welcomed(
    owner: OwnerUnderTest, dials: DiallerHandshake
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return a connection behind its preamble, of which every byte came alone."""
    reader, writer = await asyncio.open_connection(BIND_HOST, owner.listener.port)
    to_send = dials.begin()
    while not dials.is_welcome:
        for byte in to_send:
            writer.write(bytes([byte]))
            await asyncio.sleep(0)
        to_send = dials.receive(await reader.read(1 << 16))
    return reader, writer


@pytest.mark.parametrize("secret", [None, SECRET])
async def test_a_preamble_may_come_byte_by_byte(secret: bytes | None) -> None:
    async with OwnerUnderTest(secret=secret) as owner:
        _, writer = await welcomed(owner, handshake(Purpose.REQUESTS, secret))

        writer.write(heartbeat_of("g", 7))

        await owner.apis.was_asked.wait()
        writer.close()


async def test_a_request_may_come_with_the_end_of_the_preamble() -> None:
    async with OwnerUnderTest() as owner:
        _, writer = await asyncio.open_connection(BIND_HOST, owner.listener.port)

        writer.write(handshake(Purpose.REQUESTS, None).begin() + heartbeat_of("g", 7))

        await owner.apis.was_asked.wait()
        writer.close()


async def test_who_only_wanted_to_see_the_listener_is_closed() -> None:
    async with OwnerUnderTest() as owner:
        reader, writer = await welcomed(owner, handshake(Purpose.REACH, None))

        assert await ended(reader) == b""
        assert not owner.listener._unproved
        writer.close()


async def test_who_leaves_in_the_middle_is_forgotten() -> None:
    async with OwnerUnderTest() as owner:
        _, writer = await asyncio.open_connection(BIND_HOST, owner.listener.port)
        writer.write(b"kpro")
        await until(lambda: len(owner.listener._unproved) == 1)

        writer.close()

        await until(lambda: not owner.listener._unproved)
        assert not owner.counted.counts


async def test_a_process_that_ends_closes_what_is_in_its_preamble() -> None:
    async with OwnerUnderTest() as owner:
        reader, writer = await asyncio.open_connection(BIND_HOST, owner.listener.port)
        await until(lambda: len(owner.listener._unproved) == 1)

        owner.listener.stop_accepting()

        assert await ended(reader) == b""
        writer.close()
