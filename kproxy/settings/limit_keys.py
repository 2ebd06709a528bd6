"""The part of the table of keys that bounds what clients may take of a process: connections, memory, share groups."""

from collections.abc import Mapping
from dataclasses import dataclass

from kproxy.settings.authorizer_keys import AuthorizerSettings
from kproxy.settings.key_rows import key_row
from kproxy.settings.limit_kinds import bytes_or_auto, count_by_host
from kproxy.settings.value_kinds import milliseconds, whole_number

_UNLIMITED = "2147483647"
"""How Kafka says that nothing is bounded (Integer.MAX_VALUE)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings(AuthorizerSettings):
    """The part of `Settings` about limits. `load_settings` makes and validates the whole."""

    max_connections: int = key_row(
        "max.connections",
        whole_number(1),
        _UNLIMITED,
        "Client connections that may be open at once, over all ports. The one beyond it is closed at once.",
    )
    max_connections_per_ip: int = key_row(
        "max.connections.per.ip",
        whole_number(0),
        _UNLIMITED,
        "Client connections that one address may have open at once. The one beyond it is closed at once. 0 lets in the "
        "addresses of max.connections.per.ip.overrides alone.",
    )
    max_connections_per_ip_overrides: Mapping[str, int] = key_row(
        "max.connections.per.ip.overrides",
        count_by_host(),
        "",
        "What single addresses or host names may have instead, as 10.0.0.7:100,ingress:5000; names are looked up once, "
        "at the start.",
    )
    max_unauthenticated_connections: int = key_row(
        "kproxy.max.unauthenticated.connections",
        whole_number(1),
        "2000",
        "Client connections that may be open at once before their client has proved who it is, where "
        "upstream.security.protocol is one of SASL. The one beyond it is closed at once.",
    )
    handshake_deadline_ms: int = key_row(
        "kproxy.handshake.deadline.ms",
        milliseconds(1),
        "30000",
        "A client connection is closed that has sent no whole request by then or, where "
        "kproxy.max.unauthenticated.connections counts, has not proved who its client is.",
    )
    connections_max_idle_ms: int = key_row(
        "connections.max.idle.ms",
        milliseconds(1),
        "600000",
        "A client connection on which neither side was heard, or took anything, for this long is closed, also while "
        "its broker owes an answer; not while kproxy has yet to answer, or has no room. A share consumer's lasts up to "
        "twice as long. Brokers close theirs by the same key: where it is higher there, let it be here.",
    )
    connection_max_requests_per_second: int = key_row(
        "kproxy.connection.max.requests.per.second",
        whole_number(1),
        _UNLIMITED,
        "Requests of any kind that one client connection may send per second, on average. One that sends more is read "
        "no further until that is true again; nothing is refused.",
    )
    max_buffered_bytes: int | None = key_row(
        "kproxy.max.buffered.bytes",
        bytes_or_auto(1024 * 1024),
        "auto",
        "What all relayed connections may hold together: frames and requests that are held whole, answers, share "
        "sessions, and bytes that slow peers have not taken. Above it kproxy reads no further. auto takes a quarter of "
        "the memory that the process may use (of its cgroup, or of the machine), 256 MiB at most.",
    )
    principal_max_share_sessions: int = key_row(
        "kproxy.principal.max.share.sessions",
        whole_number(1),
        _UNLIMITED,
        "Share sessions that one principal may have open at once in one process. Beyond it SHARE_SESSION_LIMIT_REACHED "
        "is answered. All clients that prove no name are one principal, User:ANONYMOUS.",
    )
    principal_max_share_members: int = key_row(
        "kproxy.principal.max.share.members",
        whole_number(1),
        _UNLIMITED,
        "Members of share groups that one principal may have in one process. Whoever would join beyond it is answered "
        "GROUP_MAX_SIZE_REACHED.",
    )
    principal_max_share_groups: int = key_row(
        "kproxy.principal.max.share.groups",
        whole_number(1),
        _UNLIMITED,
        "Share groups of one process that may be there by the doing of one principal. A request that would make "
        "another one is answered POLICY_VIOLATION.",
    )
