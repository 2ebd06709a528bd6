"""A proxy that rewrites nothing, in kproxy's place: what it leaks has to make every client fail.

As a program: `python -m tests.compatibility.leaky_proxy LISTEN_HOST LISTEN_PORT BROKER_HOST BROKER_PORT`.
"""

import asyncio
import sys
from asyncio import StreamReader, StreamWriter
from typing import Final

from tests.compatibility.kproxy_host import LISTENING_PORT
from tests.compatibility.namespaces import KPROXY_FRONT_ADDRESS, ThreeHosts
from tests.real_kafka.child import Child

MODULE: Final = "tests.compatibility.leaky_proxy"
START_TIMEOUT_SECONDS: Final = 60.0
CHUNK_BYTES: Final = 65_536


class LeakyProxy(Child):
    """Forwards bytes to one broker from where kproxy would listen; serves when the constructor returns."""

    def __init__(self, hosts: ThreeHosts, broker_address: str) -> None:
        command = [sys.executable, "-m", MODULE, KPROXY_FRONT_ADDRESS, str(LISTENING_PORT)]
        super().__init__("leaky proxy", hosts.on_kproxy_host([*command, *broker_address.split(":")]))
        self.next_line(timeout_seconds=START_TIMEOUT_SECONDS)

    @property
    def bootstrap_servers(self) -> str:
        """What clients are given."""
        return f"{KPROXY_FRONT_ADDRESS}:{LISTENING_PORT}"


async def _serve(listen_host: str, listen_port: int, broker_host: str, broker_port: int) -> None:
    async def forward(client_reader: StreamReader, client_writer: StreamWriter) -> None:
        broker_reader, broker_writer = await asyncio.open_connection(broker_host, broker_port)
        await asyncio.gather(_copy(client_reader, broker_writer), _copy(broker_reader, client_writer))

    server = await asyncio.start_server(forward, listen_host, listen_port)
    print("listening", flush=True)
    await server.serve_forever()


async def _copy(reader: StreamReader, writer: StreamWriter) -> None:
    try:
        while chunk := await reader.read(CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
