from typing import Any

import pytest

from kproxy.settings import HostPort, Settings
from kproxy.settings.consistency import contradictions

FLEET_TLS: dict[str, Any] = {
    "fleet_ssl_keystore_location": ("/etc/kproxy/fleet.pem",),
    "fleet_ssl_truststore_location": "/etc/kproxy/fleet-ca.pem",
}


def problems_with(**changes: object) -> list[str]:
    settings = Settings(**changes)  # type: ignore[arg-type]  # each test names the type it means
    return list(contradictions(settings, lambda key: f"<{key}>"))


def test_the_defaults_agree_with_each_other() -> None:
    assert problems_with() == []


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_host_that_nobody_can_connect_to_is_not_advertised(host: str) -> None:
    assert problems_with(advertised_host=host) == [
        (
            f"clients cannot connect to {host}: <kproxy.advertised.host> and <kproxy.listen>; "
            "set kproxy.advertised.host to a name or address of this machine"
        )
    ]


def test_every_address_may_be_bound_when_another_is_advertised() -> None:
    assert problems_with(listen=HostPort("0.0.0.0", 9092), advertised_host="kproxy.svc") == []


def test_kproxy_does_not_stand_in_front_of_itself() -> None:
    assert problems_with(bootstrap_servers=(HostPort("a", 1), HostPort("127.0.0.1", 19092))) == [
        (
            "kproxy would be in front of itself: <bootstrap.servers> names <kproxy.listen>; "
            "bootstrap.servers is the backing cluster"
        )
    ]


def test_clients_and_administration_need_two_ports() -> None:
    assert problems_with(admin_listener=HostPort("0.0.0.0", 19092)) == [
        "<kproxy.admin.listener> and <kproxy.listen> need two different ports"
    ]


def test_both_may_ask_for_any_free_port() -> None:
    assert problems_with(admin_listener=HostPort("127.0.0.1", 0), listen=HostPort("127.0.0.1", 0)) == []


def test_administration_may_be_turned_off() -> None:
    assert problems_with(admin_listener=None) == []


def test_a_broker_does_not_get_a_port_that_is_taken() -> None:
    assert problems_with(broker_port_map={1: 19092, 2: 9644, 3: 19103}) == [
        "<kproxy.broker.port.map> gives node 1 the port of <kproxy.listen>: choose another",
        "<kproxy.broker.port.map> gives node 2 the port of <kproxy.admin.listener>: choose another",
    ]


@pytest.mark.parametrize("tail", ["session_timeout_ms", "heartbeat_interval_ms", "record_lock_duration_ms"])
def test_a_group_default_lies_within_its_bounds(tail: str) -> None:
    # Given
    dotted = tail.replace("_", ".")
    bounds = {f"group_share_min_{tail}": 20_000, f"group_share_max_{tail}": 40_000}

    # When
    below = problems_with(**bounds, **{f"group_share_{tail}": 19_999})
    above = problems_with(**bounds, **{f"group_share_{tail}": 40_001})

    # Then
    assert f"<group.share.min.{dotted}> must be at most <group.share.{dotted}>" in below
    assert f"<group.share.{dotted}> must be at most <group.share.max.{dotted}>" in above


def test_a_bound_that_is_upside_down_is_a_contradiction() -> None:
    assert (
        "<group.share.min.session.timeout.ms> must be at most <group.share.max.session.timeout.ms>"
        in problems_with(group_share_min_session_timeout_ms=60_001)
    )


def test_members_send_heartbeats_more_often_than_they_time_out() -> None:
    assert problems_with(
        group_share_session_timeout_ms=15_000,
        group_share_min_session_timeout_ms=15_000,
        group_share_heartbeat_interval_ms=15_000,
    ) == ["<group.share.heartbeat.interval.ms> must be less than <group.share.session.timeout.ms>"]


def test_every_member_of_a_full_group_can_have_a_share_session() -> None:
    assert problems_with(group_share_max_share_sessions=199) == [
        "<group.share.max.size> must be at most <group.share.max.share.sessions>"
    ]


def test_more_replicas_in_sync_than_there_are_replicas_are_a_contradiction() -> None:
    # When
    found = problems_with(share_coordinator_state_topic_replication_factor=1)

    # Then
    assert found == [
        "<share.coordinator.state.topic.min.isr> must be at most <share.coordinator.state.topic.replication.factor>"
    ]


def test_one_name_for_both_state_topics_is_a_contradiction() -> None:
    # When
    found = problems_with(state_topic_name="share", groups_topic_name="share")

    # Then
    assert found == ["<kproxy.state.topic.name> and <kproxy.groups.topic.name> need two different names"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_an_address_that_no_other_process_can_connect_to_is_not_told_to_them(host: str) -> None:
    assert problems_with(fleet_advertised_host=host) == [
        (
            f"others cannot connect to {host}: <kproxy.fleet.advertised.host> and <kproxy.fleet.listener>; "
            "set kproxy.fleet.advertised.host to a name or address of this machine"
        )
    ]


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.7", "kproxy-0.svc"])
def test_other_machines_are_let_in_with_a_secret_or_mutual_tls_only(host: str) -> None:
    listening = {"fleet_listener": HostPort(host, 19093), "fleet_advertised_host": "kproxy-0.svc"}
    assert problems_with(**listening, fleet_secret_file="/run/secrets/fleet") == []
    assert problems_with(**listening, **FLEET_TLS) == []
    assert problems_with(**listening, **FLEET_TLS, fleet_secret_file="/run/secrets/fleet") == []
    assert problems_with(**listening) == [
        (
            "<kproxy.fleet.listener> lets other machines in, and <kproxy.fleet.secret.file> lets everybody in who "
            "reaches it: name a file with a secret, or the files of mutual TLS (kproxy.fleet.ssl.keystore.location and "
            "kproxy.fleet.ssl.truststore.location), or listen on 127.0.0.1"
        )
    ]


@pytest.mark.parametrize(("given", "missing"), [("keystore", "truststore"), ("truststore", "keystore")])
def test_mutual_tls_of_a_fleet_needs_both_stores(given: str, missing: str) -> None:
    name = f"fleet_ssl_{given}_location"
    assert problems_with(**{name: FLEET_TLS[name]}) == [
        (
            f"<kproxy.fleet.ssl.{given}.location> needs kproxy.fleet.ssl.{missing}.location: each process shows a "
            "certificate, and goes by that of the other one"
        )
    ]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "::1", "localhost"])
def test_processes_of_one_machine_need_no_secret(host: str) -> None:
    assert problems_with(fleet_listener=HostPort(host, 19093)) == []


def test_some_address_must_be_let_in() -> None:
    assert problems_with(max_connections_per_ip=0) == [
        "nobody could connect: <max.connections.per.ip> and <max.connections.per.ip.overrides>; name who may"
    ]
    assert problems_with(max_connections_per_ip=0, max_connections_per_ip_overrides={"10.0.0.7": 1}) == []
