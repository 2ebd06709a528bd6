"""Brokers as one kproxy process sees them. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KnownBrokerView:
    """A broker of `/api/v1/brokers`, but for the `process` that sees it so.

    `upstream` is the HOST:PORT that the cluster advertises, or did before it left the broker out: then `is_listed` is
    false, as of a broker that is down. `advertised` and `tls_advertised` are what clients of this process are told
    instead, empty where no such port is bound. `own_connections` are those of the process itself to the broker, which
    `is_connected` while there is any; `client_connections` those of clients that came by the broker's port.
    `unlisted_ms` is how long ago the cluster stopped naming it, None while it does and where nobody saw it; and
    `is_awaited` whether partitions have replicas on it all the same, so that it is down, and was not removed.
    `last_error` is why one of the process's own connections failed last, empty if none ever did, and
    `last_error_age_ms` how long ago.
    """

    node_id: int
    rack: str | None
    upstream: str
    is_listed: bool
    advertised: str
    tls_advertised: str
    is_connected: bool
    own_connections: int
    client_connections: int
    last_error: str
    last_error_age_ms: int | None
    unlisted_ms: int | None = None
    is_awaited: bool = False


KnownBrokers = Callable[[], Sequence[KnownBrokerView]]
"""Says which brokers this process knows, by node id. Never waits."""


def no_brokers() -> Sequence[KnownBrokerView]:
    """Return none: of a process that knows no cluster."""
    return ()
