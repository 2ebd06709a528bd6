"""From the operator's settings to the limits of client connections."""

import socket
from collections.abc import Iterator, Mapping
from dataclasses import replace

from kproxy.net.relay.limits.connection_quotas import ConnectionQuotas, QuotaLimits
from kproxy.net.relay.limits.file_descriptors import connections_that_fit
from kproxy.net.relay.relay import OpenConnection, RelayLimits
from kproxy.settings import Settings
from kproxy.telemetry import logs

log = logs.logger("application")


def relay_limits(settings: Settings) -> RelayLimits:
    """Return the bounds of each connection that `settings` say."""
    return RelayLimits(
        max_request_bytes=settings.socket_request_max_bytes,
        connect_timeout_ms=settings.connect_timeout_ms,
        frame_deadline_ms=settings.frame_deadline_ms,
        keepalive_ms=settings.keepalive_ms,
        client_idle_ms=settings.connections_max_idle_ms,
        handshake_deadline_ms=settings.handshake_deadline_ms,
        max_requests_per_second=settings.connection_max_requests_per_second,
    )


def client_quotas(settings: Settings, file_limit: int) -> ConnectionQuotas[OpenConnection]:
    """Return what counts client connections: no more than `file_limit` open files suffice for.

    Where brokers ask for SASL, clients are to prove who they are.
    """
    limits = quota_limits(settings)
    limits = replace(limits, in_all=connections_that_fit(limits.in_all, file_limit))
    has_proved = _has_authenticated if settings.upstream_security_protocol.has_sasl else None
    return ConnectionQuotas(limits, has_proved=has_proved)


def _has_authenticated(connection: OpenConnection) -> bool:
    return connection.session.sasl.proof is not None


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
