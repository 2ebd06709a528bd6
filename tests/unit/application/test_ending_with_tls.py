"""`kproxy run` ends within its time, whatever state the TLS connections of its clients are in."""

import asyncio
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests.real_kafka.ports import LOOPBACK, ReservedPort
from tests.unit.net.relaying import request
from tests.unit.net.tls_client import TlsClient
from tests.worlds.certificates import issued
from tests.worlds.waiting import until

GRACE_MS: Final = 1_500
LATEST_SECONDS: Final = GRACE_MS / 1000 + 8
"""A busy machine, and the end of an interpreter, take their time as well; what hangs on TLS takes 30 s."""


@contextmanager
def kproxy_before_silence() -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A kproxy with TLS whose brokers take connections and say nothing, and the port of its clients."""
    keys = issued("listener", hosts=("localhost", LOOPBACK))
    with socket.create_server((LOOPBACK, 0)) as silent, ReservedPort() as listen, ReservedPort() as admin:
        settings = {
            "kproxy.listen": listen.address,
            "kproxy.admin.listener": admin.address,
            "kproxy.shutdown.grace.ms": GRACE_MS,
            "ssl.keystore.location": keys.both,
            "kproxy.listener.security.protocol": "SSL",
        }
        parts = [part for key, value in settings.items() for part in ("-X", f"{key}={value}")]
        upstream = f"{LOOPBACK}:{silent.getsockname()[1]}"
        command = [sys.executable, "-m", "kproxy", "run", "-b", upstream, *parts]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                yield process, listen.number
            finally:
                process.kill()


async def shaken_hands(port: int) -> TlsClient:
    """Connect as soon as somebody listens."""
    while True:
        try:
            return await TlsClient.connected(port)
        except ConnectionRefusedError:
            await asyncio.sleep(0.05)


async def test_clients_that_have_closed_by_half_or_not_at_all_hold_up_no_end() -> None:
    with kproxy_before_silence() as (process, port):
        # Given
        idle, owed, told, finished = [await shaken_hands(port) for _ in range(4)]
        for client in (owed, told, finished):
            await client.send(request(1))
        await told.say_last_word()
        finished.send_fin()
        _, silent = await asyncio.open_connection(LOOPBACK, port)
        _, begun = await asyncio.open_connection(LOOPBACK, port)
        begun.write(b"\x16\x03\x01\x02\x00\x01")
        await begun.drain()

        # When
        before = time.monotonic()
        process.send_signal(signal.SIGTERM)

        # Then
        await until(lambda: process.poll() is not None)
        assert time.monotonic() - before < LATEST_SECONDS
        assert process.returncode == 0
        for each in (idle, owed, told, finished, silent, begun):
            each.close()
