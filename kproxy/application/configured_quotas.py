"""From the operator's settings to the limits of client connections."""

import socket
from collections.abc import Iterator, Mapping

from kproxy.net.relay.limits.connection_quotas import QuotaLimits
from kproxy.settings import Settings
from kproxy.telemetry import logs

log = logs.logger("application")


def quota_limits(settings: Settings) -> QuotaLimits:
    """Return how many connections `settings` allow. Host names among the overrides are looked up now.

    One that nobody knows has no effect, and the log says so: it is no reason to serve nobody.
    """
    overrides = settings.max_connections_per_ip_overrides
    return QuotaLimits(
        in_all=settings.max_connections,
        of_address=settings.max_connections_per_ip,
        overrides=dict(_by_address(overrides)),
        unauthenticated=settings.max_unauthenticated_connections,
    )


def _by_address(overrides: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    for host, count in overrides.items():
        try:
            found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except OSError as failure:
            log.warning(
                "override_without_address",
                host=host,
                err=failure,
                detail="max.connections.per.ip.overrides: max.connections.per.ip holds for it",
            )
            continue
        for _family, _kind, _protocol, _name, where in found:
            yield str(where[0]), count
