"""Rules that join several keys. The range of one key alone stands in the table."""

from collections.abc import Callable, Iterator
from typing import Final

from kproxy.settings.addresses import HostPort
from kproxy.settings.key_table import Settings
from kproxy.settings.sasl_consistency import sasl_contradictions
from kproxy.settings.tls_consistency import tls_contradictions

_BOUNDED: Final = (
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "delivery.count.limit",
    "record.lock.duration.ms",
    "assignment.interval.ms",
    "partition.max.record.locks",
)
"""`group.share.X` that lies between `group.share.min.X` and `group.share.max.X`."""


def contradictions(settings: Settings, said: Callable[[str], str]) -> Iterator[str]:
    """Yield a sentence for each rule that `settings` breaks.

    `said` renders a key with its value and its origin, so that the sentence shows where both sides come from.
    """
    yield from _address_contradictions(settings, said)
    yield from _port_map_contradictions(settings, said)
    yield from _group_contradictions(settings, said)
    yield from _state_topic_contradictions(settings, said)
    yield from _fleet_contradictions(settings, said)
    yield from tls_contradictions(settings, said)
    yield from sasl_contradictions(settings, said)
    yield from _limit_contradictions(settings, said)


def _address_contradictions(settings: Settings, said: Callable[[str], str]) -> Iterator[str]:
    if HostPort(settings.advertised_host, 0).is_wildcard:
        yield (
            f"clients cannot connect to {settings.advertised_host}: {said('kproxy.advertised.host')} and "
            f"{said('kproxy.listen')}; set kproxy.advertised.host to a name or address of this machine"
        )
    if settings.listen in settings.bootstrap_servers and settings.listen.port:
        yield (
            f"kproxy would be in front of itself: {said('bootstrap.servers')} names {said('kproxy.listen')}; "
            "bootstrap.servers is the backing cluster"
        )
    if settings.admin_listener and settings.admin_listener.collides_with(settings.listen):
        yield f"{said('kproxy.admin.listener')} and {said('kproxy.listen')} need two different ports"


def _port_map_contradictions(settings: Settings, said: Callable[[str], str]) -> Iterator[str]:
    taken = {"kproxy.listen": settings.listen, "kproxy.admin.listener": settings.admin_listener}
    for node_id, port in settings.broker_port_map.items():
        broker = HostPort(settings.listen.host, port)
        for key, address in taken.items():
            if address and address.collides_with(broker):
                map_said = said("kproxy.broker.port.map")
                yield f"{map_said} gives node {node_id} the port of {said(key)}: choose another"


def _group_contradictions(settings: Settings, said: Callable[[str], str]) -> Iterator[str]:
    for tail in _BOUNDED:
        lowest, value, highest = f"group.share.min.{tail}", f"group.share.{tail}", f"group.share.max.{tail}"
        yield from _unless_at_most(settings, said, lowest, highest)
        yield from _unless_at_most(settings, said, lowest, value)
        yield from _unless_at_most(settings, said, value, highest)
    if settings.group_share_heartbeat_interval_ms >= settings.group_share_session_timeout_ms:
        heartbeat, session = said("group.share.heartbeat.interval.ms"), said("group.share.session.timeout.ms")
        yield f"{heartbeat} must be less than {session}"
    yield from _unless_at_most(settings, said, "group.share.max.size", "group.share.max.share.sessions")


def _state_topic_contradictions(settings: Settings, said: Callable[[str], str]) -> Iterator[str]:
    yield from _unless_at_most(
        settings,
        said,
        "share.coordinator.state.topic.min.isr",
        "share.coordinator.state.topic.replication.factor",
    )
    if settings.state_topic_name == settings.groups_topic_name:
        state, groups = said("kproxy.state.topic.name"), said("kproxy.groups.topic.name")
        yield f"{state} and {groups} need two different names"


def _fleet_contradictions(settings: Settings, said: Callable[[str], str]) -> Iterator[str]:
    if HostPort(settings.fleet_advertised_host, 0).is_wildcard:
        yield (
            f"others cannot connect to {settings.fleet_advertised_host}: {said('kproxy.fleet.advertised.host')} and "
            f"{said('kproxy.fleet.listener')}; set kproxy.fleet.advertised.host to a name or address of this machine"
        )
    keys, trust = settings.fleet_ssl_keystore_location, settings.fleet_ssl_truststore_location
    if bool(keys) is not bool(trust):
        given, missing = ("keystore", "truststore") if keys else ("truststore", "keystore")
        yield (
            f"{said(f'kproxy.fleet.ssl.{given}.location')} needs kproxy.fleet.ssl.{missing}.location: each process "
            "shows a certificate, and goes by that of the other one"
        )
    is_guarded = bool(settings.fleet_secret_file) or settings.has_fleet_tls
    if not settings.fleet_listener.is_loopback and not is_guarded:
        yield (
            f"{said('kproxy.fleet.listener')} lets other machines in, and {said('kproxy.fleet.secret.file')} lets "
            "everybody in who reaches it: name a file with a secret, or the files of mutual TLS "
            "(kproxy.fleet.ssl.keystore.location and kproxy.fleet.ssl.truststore.location), or listen on 127.0.0.1"
        )


def _limit_contradictions(settings: Settings, said: Callable[[str], str]) -> Iterator[str]:
    if settings.max_connections_per_ip == 0 and not settings.max_connections_per_ip_overrides:
        overrides = said("max.connections.per.ip.overrides")
        yield f"nobody could connect: {said('max.connections.per.ip')} and {overrides}; name who may"


def _unless_at_most(settings: Settings, said: Callable[[str], str], lower: str, upper: str) -> Iterator[str]:
    if getattr(settings, lower.replace(".", "_")) > getattr(settings, upper.replace(".", "_")):
        yield f"{said(lower)} must be at most {said(upper)}"
