# ruff: noqa: RUF009 - key_row makes a dataclasses.field, which is no shared value
"""The first part of the table of keys: addresses, connections, and what else concerns every client alike."""

from collections.abc import Mapping
from dataclasses import dataclass

from kproxy.settings.addresses import LAST_PORT, HostPort
from kproxy.settings.key_rows import key_row
from kproxy.settings.value_kinds import (
    file_path,
    host_name,
    host_names,
    listening_address,
    milliseconds,
    optional_listening_address,
    port_by_node_id,
    server_addresses,
    whole_number,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelaySettings:
    """The part of `Settings` that comes first. `load_settings` makes and validates the whole."""

    # ------------------------------------------------ addresses
    bootstrap_servers: tuple[HostPort, ...] = key_row(
        "bootstrap.servers",
        server_addresses(),
        "",
        "The backing cluster: brokers to ask first, in this order.",
    )
    listen: HostPort = key_row(
        "kproxy.listen",
        listening_address(),
        "127.0.0.1:19092",
        "Where clients bootstrap. Broker ports are bound on the same host; port 0 takes any free port.",
    )
    broker_port_start: int = key_row(
        "kproxy.broker.port.start",
        whole_number(1, LAST_PORT),
        "19100",
        "The port of a backing broker is this plus its node id, unless kproxy.broker.port.map names one.",
    )
    broker_port_map: Mapping[int, int] = key_row(
        "kproxy.broker.port.map", port_by_node_id(), "", "Ports of single backing brokers, by node id."
    )
    advertised_host: str = key_row(
        "kproxy.advertised.host",
        host_name(),
        "",
        "The host that clients are told to connect to, $(nodeId) standing for the broker's node id; empty takes "
        "the host of kproxy.listen.",
    )
    admin_listener: HostPort | None = key_row(
        "kproxy.admin.listener",
        optional_listening_address(),
        "127.0.0.1:9644",
        "Where health, metrics and status are served over HTTP; empty or none turns it off. On anything but the "
        "loopback /api wants kproxy.admin.token.file; /livez, /readyz and /metrics are open to all who reach it.",
    )
    admin_token_file: str = key_row(
        "kproxy.admin.token.file",
        file_path(),
        "",
        "A file with the token that /api wants to see (Authorization: Bearer), one word of 16 to 1024 characters; a "
        "file that is replaced counts at once. Empty for none: then /api is answered on the loopback only.",
    )
    admin_allowed_hosts: tuple[str, ...] = key_row(
        "kproxy.admin.allowed.hosts",
        host_names(),
        "",
        "Names and addresses that the admin port is asked by, beside those that it is bound to and those of the "
        "loopback; requests by any other (the header Host), and from pages of any other (Origin), are refused.",
    )

    # ------------------------------------------------ connections
    socket_request_max_bytes: int = key_row(
        "socket.request.max.bytes",
        whole_number(1),
        "104857600",
        "The longest frame that is taken from a client.",
    )
    frame_deadline_ms: int = key_row(
        "kproxy.frame.deadline.ms",
        milliseconds(1),
        "30000",
        "A connection whose frame has begun and does not go on for this long is closed.",
    )
    connect_timeout_ms: int = key_row(
        "kproxy.connect.timeout.ms",
        milliseconds(1),
        "5000",
        "How long a connection to a backing broker may take.",
    )
    keepalive_ms: int = key_row(
        "kproxy.keepalive.ms",
        milliseconds(100),
        "240000",
        "A connection to a backing broker that was silent for this long, with no response owed, gets an "
        "ApiVersions request from kproxy. Keep it below the brokers' connections.max.idle.ms.",
    )
    metadata_max_age_ms: int = key_row(
        "metadata.max.age.ms",
        milliseconds(100),
        "300000",
        "How old the view of topics, leaders and brokers may get before the backing cluster is asked again.",
    )
    topics_look_interval_ms: int = key_row(
        "kproxy.topics.look.interval.ms",
        milliseconds(100, 300_000),
        "900",
        "How often the topics of share groups are looked at, so that topics that others create, delete or extend are "
        "noticed. Nothing is asked while there are no share groups. Of subscribed topics that do not exist 1,000 are "
        "looked for each time, in turn.",
    )
    shutdown_grace_ms: int = key_row(
        "kproxy.shutdown.grace.ms",
        milliseconds(0),
        "10000",
        "How long a stop may take: parked fetches are answered and connections closed in that time. A second before "
        "its end (half of a shorter time) what is left is cut off, and what it held is released. Another "
        "SIGTERM or SIGINT cuts it short.",
    )
