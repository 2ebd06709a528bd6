"""Connecting to a backing broker, or another kproxy: its name is resolved at each dial, and every address is tried.

With TLS the broker is asked for by its name (SNI), and must prove that name, whatever address it was reached at.
"""

import asyncio
import os
import ssl
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from kproxy.net.broker_failures import BrokerFailure
from kproxy.net.name_lookups import lookups_of_this_loop
from kproxy.net.tls.handshakes import HandshakeFailure, failure_with_broker
from kproxy.net.tls.paced_protocol import PacedProtocol
from kproxy.settings.addresses import HostPort

P = TypeVar("P", bound=asyncio.BaseProtocol)

HANDSHAKE_SECONDS: Final = 60.0
"""Longer than any connection may take to be made: that time ends the handshake, too, see `connect`."""


class TlsContext(Protocol):
    """What TLS connections are made with: `RenewedContext`, `DiallingContext`."""

    @property
    def context(self) -> ssl.SSLContext:
        """The context for a connection that begins now."""
        ...


LOOKUP_PART: Final = 0.8
"""Of the time for a dial, for the lookup of the name: what is left is for an address that is found late. Nor would
anybody hear what kept a lookup that takes all of it."""

FailureOf = Callable[[BaseException, str], HandshakeFailure]
"""Returns what it means that a handshake with a host ended in an error."""


async def connect(
    address: HostPort,
    make_protocol: Callable[[], P],
    *,
    timeout_ms: int,
    tls: TlsContext | None = None,
    failure_of: FailureOf = failure_with_broker,
) -> P:
    """Return the protocol of a new connection to `address`, after the handshake if it is to be one with `tls`.

    `failure_of` has the words for a handshake that failed.

    Raises:
        BrokerFailure: the text names the address, and says for each address of the name what happened there.
    """
    context = None if tls is None else tls.context
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            return await _connect_to_any(address, make_protocol, timeout_ms, context)
    except _HandshakeFailed as failed:
        failure = failure_of(failed.error, address.host)
        raise BrokerFailure(failure.reason, f"{address}: {failure.detail}") from failed.error
    except TimeoutError:
        detail = f"{address} cannot be reached within {timeout_ms} ms"
        raise BrokerFailure("connect_timeout", detail) from None


class _HandshakeFailed(Exception):
    def __init__(self, error: OSError) -> None:
        self.error = error


async def _connect_to_any(
    address: HostPort, make_protocol: Callable[[], P], timeout_ms: int, context: ssl.SSLContext | None
) -> P:
    addresses = await _resolve(address, round(LOOKUP_PART * timeout_ms))
    failures: list[str] = []
    for untried, (host, family) in zip(range(len(addresses), 0, -1), addresses, strict=True):
        # An address that swallows packets must leave time for those behind it.
        timeout_s = timeout_ms / 1000 / untried
        try:
            async with asyncio.timeout(timeout_s):
                return await _connect_to(host, address, family, make_protocol, context)
        except ssl.SSLError as error:
            raise _HandshakeFailed(error) from error  # every address of the name has the same certificate
        except TimeoutError:
            failures.append(f"{host}: no answer within {round(timeout_s * 1000)} ms")
        except OSError as error:
            if context is not None and isinstance(error, ConnectionResetError | BrokenPipeError):
                raise _HandshakeFailed(error) from error
            failures.append(f"{host}: {_in_words(error)}")
    raise BrokerFailure("unreachable", f"{address} cannot be reached ({'; '.join(failures)})")


async def _connect_to(
    host: str, address: HostPort, family: int, make_protocol: Callable[[], P], context: ssl.SSLContext | None
) -> P:
    loop = asyncio.get_running_loop()
    if context is None:
        _, protocol = await loop.create_connection(make_protocol, host, address.port, family=family)
        return protocol
    name = _tls_name(address.host)
    _, paced = await loop.create_connection(
        lambda: PacedProtocol(make_protocol(), context, server_hostname=name),
        host,
        address.port,
        family=family,
    )
    return (await paced.shaken(HANDSHAKE_SECONDS)).protocol


def _tls_name(host: str) -> str:
    """Return the name that a certificate has: without the dot that ends a name which is complete."""
    return host.removesuffix(".")


async def _resolve(address: HostPort, timeout_ms: int) -> list[tuple[str, int]]:
    return await lookups_of_this_loop().addresses_of(address, timeout_ms=timeout_ms)


def _in_words(error: OSError) -> str:
    return os.strerror(error.errno).lower() if error.errno is not None else error.strerror or str(error)
