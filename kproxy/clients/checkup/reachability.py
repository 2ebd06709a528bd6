"""Whether an address can be used from here: its name, a connection, TLS, and the login."""

import socket
import time
from collections.abc import Callable, Iterator
from typing import Final

from kproxy.clients.checkup.checks import Check, Outcome, Subject
from kproxy.clients.cluster.access import ClusterAccess
from kproxy.clients.cluster.connection import BrokerAddress, BrokerConnection
from kproxy.clients.cluster.deadline import Deadline
from kproxy.clients.failures import ClientFailed, NotAllowed

TIMEOUT_MS: Final = 5_000
"""For each connection."""
_SHOWN_ADDRESSES: Final = 4
_LATE_MS: Final = 1_000
_LATE: Final = (
    "every append to the state log waits for it as long: look at its load, its disks and the network"
)

Resolve = Callable[[str, int], list[str]]


def resolved(host: str, port: int) -> list[str]:
    """Return the addresses of a name, each once. Raises OSError, UnicodeError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def name_check(subject: Subject, address: BrokerAddress, resolve: Resolve = resolved) -> Check:
    """Return whether the name of an address is known here."""
    try:
        found = resolve(address.host, address.port)
    except (OSError, UnicodeError) as failure:
        why = getattr(failure, "strerror", None) or str(failure)
        return subject.failed(
            "name",
            f"{address.host} is not known here: {why}",
            "mend DNS or /etc/hosts, or name another address",
        )
    shown = ", ".join(found[:_SHOWN_ADDRESSES]) + (" and more" if len(found) > _SHOWN_ADDRESSES else "")
    return subject.ok("name", shown)


def connection_check(subject: Subject, address: BrokerAddress, *, remedy: str) -> Check:
    """Return whether somebody takes TCP connections there."""
    began = time.monotonic()
    try:
        with socket.create_connection((address.host, address.port), timeout=TIMEOUT_MS / 1000):
            took_ms = (time.monotonic() - began) * 1000
            return subject.ok("connection", f"in {took_ms:.1f} ms")
    except (OSError, UnicodeError) as failure:
        why = getattr(failure, "strerror", None) or str(failure) or type(failure).__name__
        return subject.failed("connection", f"cannot connect to {address}: {why}", remedy)


def login_check(
    subject: Subject,
    address: BrokerAddress,
    access: ClusterAccess,
    *,
    now_s: Callable[[], float] = time.monotonic,
) -> Check:
    """Return whether a broker answers there, by TLS and a login where these are asked for, and how soon."""
    ways = [
        way
        for way, is_used in (("TLS", access.tls is not None), ("SASL", access.new_login is not None))
        if is_used
    ]
    began_s = now_s()
    try:
        connection = BrokerConnection(address, Deadline(TIMEOUT_MS), access)
    except NotAllowed as refused:
        return subject.failed("login", str(refused), "mend upstream.sasl.* (or the file of --command-config)")
    except ClientFailed as failure:
        return subject.failed("login", str(failure), "mend upstream.security.protocol and upstream.ssl.*")
    connection.close()
    took_ms = (now_s() - began_s) * 1000
    how = f"with {' and '.join(ways)}" if ways else "in plaintext"
    detail = f"a broker answers {how}, in {took_ms:.1f} ms"
    if took_ms > _LATE_MS:
        return subject.warning("login", detail, _LATE)
    return subject.ok("login", detail)


def broker_checks(
    subject: Subject,
    address: BrokerAddress,
    access: ClusterAccess,
    *,
    remedy: str,
    resolve: Resolve = resolved,
) -> Iterator[Check]:
    """Yield all three, as far as each makes the next one possible."""
    name = name_check(subject, address, resolve)
    yield name
    if name.outcome is Outcome.FAILED:
        return
    connection = connection_check(subject, address, remedy=remedy)
    yield connection
    if connection.outcome is Outcome.OK:
        yield login_check(subject, address, access)
