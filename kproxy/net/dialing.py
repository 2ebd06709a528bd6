"""Connecting to a backing broker: its name is resolved at each dial, and every address of it is tried."""

import asyncio
import os
import socket
from collections.abc import Callable
from typing import TypeVar

from kproxy.net.broker_failures import BrokerFailure
from kproxy.settings.addresses import HostPort

P = TypeVar("P", bound=asyncio.BaseProtocol)


async def connect(address: HostPort, make_protocol: Callable[[], P], *, timeout_ms: int) -> P:
    """Return the protocol of a new connection to `address`.

    Raises:
        BrokerFailure: the text names the address, and says for each address of the name what happened there.
    """
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            return await _connect_to_any(address, make_protocol, timeout_ms)
    except TimeoutError:
        detail = f"{address} cannot be reached within {timeout_ms} ms"
        raise BrokerFailure("connect_timeout", detail) from None


async def _connect_to_any(address: HostPort, make_protocol: Callable[[], P], timeout_ms: int) -> P:
    addresses = await _resolve(address)
    failures: list[str] = []
    for untried, (host, family) in zip(range(len(addresses), 0, -1), addresses, strict=True):
        # An address that swallows packets must leave time for those behind it.
        timeout_s = timeout_ms / 1000 / untried
        try:
            async with asyncio.timeout(timeout_s):
                return await _connect_to(host, address.port, family, make_protocol)
        except TimeoutError:
            failures.append(f"{host}: no answer within {round(timeout_s * 1000)} ms")
        except OSError as error:
            failures.append(f"{host}: {_in_words(error)}")
    raise BrokerFailure("unreachable", f"{address} cannot be reached ({'; '.join(failures)})")


async def _connect_to(host: str, port: int, family: int, make_protocol: Callable[[], P]) -> P:
    loop = asyncio.get_running_loop()
    _, protocol = await loop.create_connection(make_protocol, host, port, family=family)
    return protocol


async def _resolve(address: HostPort) -> list[tuple[str, int]]:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except OSError as error:
        detail = f"the name {address.host!r} cannot be resolved: {_in_words(error)}"
        raise BrokerFailure("unresolvable", detail) from error
    except UnicodeError as error:
        # What Python makes of a label that is empty or too long, before anybody is asked.
        raise BrokerFailure("unresolvable", f"{address.host!r} can be no host name: {error}") from error
    return [(str(sockaddr[0]), family) for family, _, _, _, sockaddr in found]


def _in_words(error: OSError) -> str:
    if isinstance(error, socket.gaierror) or error.errno is None:
        return error.strerror or str(error)
    return os.strerror(error.errno).lower()
