"""Brokers that want to know who connects: kproxy's own connections say it, and its clients do."""

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import pytest

from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from tests.real_kafka import administration
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.java_probe import JavaShareMember
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.raw_connection import RawConnection
from tests.real_kafka.sasl_users import (
    BROKER_SETTINGS,
    MECHANISMS,
    PASSWORDS,
    REAUTHENTICATION_MS,
    add_scram_users,
    client_settings,
    java_client_settings,
    unsecured_token,
)
from tests.real_kafka.share_member import AcknowledgeType, ShareMember
from tests.real_kafka.share_members import ConfluentShareMember

PLAIN: Final = client_settings("PLAIN")
SHARE_FETCH: Final = 78
READ_CONNECTIONS: Final = 4
"""kproxy opens those of a broker one by one, as reads overlap; each session that ended would be another one."""


@pytest.fixture(scope="module")
def guarded_cluster() -> Iterator[KafkaCluster]:
    """Its broker answers nobody who has not authenticated."""
    with KafkaCluster(broker_settings=BROKER_SETTINGS, client_settings=PLAIN) as cluster:
        add_scram_users(cluster)
        yield cluster


@pytest.fixture
def own_settings(tmp_path: Path) -> Callable[[str], dict[str, str | int]]:
    """What lets kproxy's own connections in, by mechanism."""

    def settings_for(mechanism: str) -> dict[str, str | int]:
        settings = {"upstream.security.protocol": "SASL_PLAINTEXT", "upstream.sasl.mechanism": mechanism}
        secret = tmp_path / "secret"
        if mechanism == "OAUTHBEARER":
            secret.write_text(unsecured_token("kproxy"))
            return {**settings, "upstream.sasl.oauthbearer.token.endpoint.url": secret.as_uri()}
        secret.write_text(f"{PASSWORDS['kproxy']}\n")
        return {
            **settings,
            "upstream.sasl.username": "kproxy",
            "upstream.sasl.password.file": str(secret),
        }

    return settings_for


def filled_topic(kproxy: KproxyProcess, group: str, records: Iterable[str] = "abc") -> str:
    """Make a topic with records, which `group` reads from the beginning."""
    topic = administration.create_topic(kproxy.bootstrap_servers, unique_name("topic"), client_settings=PLAIN)
    administration.set_group_settings(
        kproxy.bootstrap_servers, group, {"share.auto.offset.reset": "earliest"}, client_settings=PLAIN
    )
    administration.produce(kproxy.bootstrap_servers, topic, records, client_settings=PLAIN)
    return topic


def taken(member: ShareMember, count: int) -> list[str | None]:
    """Return the values of the next `count` records, accepted."""
    values: list[str | None] = []
    while len(values) < count:
        values += [record.value for record in member.poll_until_records()]
        member.acknowledge_all(AcknowledgeType.ACCEPT)
        assert [outcome.error for outcome in member.commit()] == [None]
    return values


def test_where_kproxy_itself_is_turned_away_share_groups_are_off_and_it_says_why(
    guarded_cluster: KafkaCluster,
) -> None:
    # When
    with KproxyProcess(guarded_cluster.bootstrap_servers) as kproxy:
        kproxy.wait_until_ready()

        # Then
        line, status = kproxy.start_line(), kproxy.status()
        [logged] = kproxy.log_events("ready")
    assert "share groups off" in line
    assert "SASL" in line
    assert "set upstream.security.protocol to SASL_PLAINTEXT or SASL_SSL, upstream.sasl.mechanism" in line
    assert status["shareGroups"]["enabled"] is False
    assert logged["share_groups"].startswith("off")


def test_clients_that_authenticate_are_relayed_where_kproxy_itself_is_turned_away(
    guarded_cluster: KafkaCluster,
) -> None:
    # Given
    with KproxyProcess(guarded_cluster.bootstrap_servers) as kproxy:
        kproxy.wait_until_ready()
        bootstrap_servers = kproxy.bootstrap_servers
        topic = administration.create_topic(bootstrap_servers, unique_name("topic"), client_settings=PLAIN)

        # When
        administration.produce(bootstrap_servers, topic, "abc", client_settings=PLAIN)

        # Then
        values = administration.consume(bootstrap_servers, topic, 3, client_settings=PLAIN)
    assert values == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"upstream.sasl.password": "wrong"}, "Authentication failed: Invalid username or password"),
        (
            {"upstream.sasl.mechanism": "SCRAM-SHA-256", "upstream.sasl.password": "wrong"},
            "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256",
        ),
    ],
    ids=["PLAIN", "SCRAM-SHA-256"],
)
def test_a_wrong_password_is_told_in_the_brokers_words(
    guarded_cluster: KafkaCluster, settings: dict[str, str], words: str
) -> None:
    # Given
    own = {
        "upstream.security.protocol": "SASL_PLAINTEXT",
        "upstream.sasl.mechanism": "PLAIN",
        "upstream.sasl.username": "kproxy",
    }

    # When
    with KproxyProcess(guarded_cluster.bootstrap_servers, settings={**own, **settings}) as kproxy:
        kproxy.wait_until_ready()
        line = kproxy.start_line()

    # Then
    assert "share groups off" in line
    assert words in line


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_share_groups_are_served_to_clients_that_authenticate_as_kproxy_does(
    guarded_cluster: KafkaCluster, own_settings: Callable[[str], dict[str, str | int]], mechanism: str
) -> None:
    # Given
    group, settings = unique_name("group"), own_settings(mechanism)
    with KproxyProcess(guarded_cluster.bootstrap_servers, settings=settings) as kproxy:
        kproxy.wait_until_ready()
        topic = filled_topic(kproxy, group)

        # When
        with ConfluentShareMember(
            kproxy.bootstrap_servers, group=group, topics=[topic], settings=client_settings(mechanism)
        ) as member:
            member.wait_until_ready()
            values = taken(member, 3)
            member.close()

        # Then
        metrics = kproxy.metrics()
    assert values == ["a", "b", "c"]
    assert metrics.total("kproxy_unknown_principals_total") == 0
    # librdkafka authenticates again half a second before its session ends, which a stalled machine may be late for.
    late = metrics.value("kproxy_connection_errors_total", side="client", reason="sasl_session_expired")
    assert metrics.total("kproxy_connection_errors_total") - late == 0


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"])
def test_at_debug_level_which_sighup_turns_on_no_secret_and_no_record_stands_in_the_log(
    guarded_cluster: KafkaCluster, own_settings: Callable[[str], dict[str, str | int]], mechanism: str
) -> None:
    # Given
    group, settings, records = unique_name("group"), own_settings(mechanism), ("planted-one", "planted-two")
    with KproxyProcess(guarded_cluster.bootstrap_servers, settings=settings) as kproxy:
        kproxy.wait_until_ready()

        # When
        os.kill(kproxy.process_id, signal.SIGHUP)
        kproxy.wait_until(lambda: bool(kproxy.log_events("log_level_changed", now="debug")))
        topic = filled_topic(kproxy, group, records)
        with ConfluentShareMember(
            kproxy.bootstrap_servers, group=group, topics=[topic], settings=client_settings(mechanism)
        ) as member:
            member.wait_until_ready()
            values = taken(member, len(records))
            member.close()
        kproxy.drain()

        # Then
        text = kproxy.errors()
    assert tuple(values) == records
    assert "client_connected" in text
    token = str(settings.get("upstream.sasl.oauthbearer.token.endpoint.url", "")).removeprefix("file://")
    secrets = [*PASSWORDS.values(), "planted", *(Path(token).read_text().split(".")[1:2] if token else ())]
    assert [secret for secret in secrets if secret in text] == []


@pytest.mark.soak
def test_sessions_of_five_seconds_cost_neither_kproxy_nor_its_members_anything(
    guarded_cluster: KafkaCluster, own_settings: Callable[[str], dict[str, str | int]]
) -> None:
    # Given
    mechanism, group = "SCRAM-SHA-512", unique_name("group")
    settings = own_settings(mechanism)
    with KproxyProcess(guarded_cluster.bootstrap_servers, settings=settings) as kproxy:
        kproxy.wait_until_ready()
        topic = filled_topic(kproxy, group, "ab")
        with JavaShareMember(
            kproxy.bootstrap_servers, group=group, topics=[topic], settings=java_client_settings(mechanism)
        ) as member:
            member.wait_until_ready()
            values = taken(member, 2)
            opened = kproxy.metrics().value("kproxy_connections_total", side="broker")

            # When
            until = time.monotonic() + 3 * REAUTHENTICATION_MS / 1000
            while time.monotonic() < until:
                assert member.poll(timeout_ms=500) == []
            opened_since = kproxy.metrics().value("kproxy_connections_total", side="broker") - opened
            administration.produce(kproxy.bootstrap_servers, topic, "c", client_settings=PLAIN)
            values += taken(member, 1)
            member.close()

            # Then
            metrics = kproxy.metrics()
    assert values == ["a", "b", "c"]
    assert metrics.total("kproxy_connection_errors_total") == 0
    assert opened_since <= READ_CONNECTIONS


def test_a_client_that_has_not_authenticated_is_closed_on(
    guarded_cluster: KafkaCluster, own_settings: Callable[[str], dict[str, str | int]]
) -> None:
    # Given
    with KproxyProcess(guarded_cluster.bootstrap_servers, settings=own_settings("PLAIN")) as kproxy:
        kproxy.wait_until_ready()
        with RawConnection(kproxy.broker_addresses[1]) as stranger:
            # When
            stranger.send_request(SHARE_FETCH, 1, ShareFetchRequest(group_id="g", member_id="m"))

            # Then
            assert stranger.is_closed_by_peer()
        errors = kproxy.metrics().value(
            "kproxy_connection_errors_total", side="client", reason="illegal_sasl_state"
        )
    assert errors == 1


def test_share_groups_are_served_in_front_of_the_oldest_brokers_that_ask(
    own_settings: Callable[[str], dict[str, str | int]],
) -> None:
    # Given
    group, mechanism = unique_name("group"), "SCRAM-SHA-256"
    with KafkaCluster("2.8.2", broker_settings=BROKER_SETTINGS, client_settings=PLAIN) as cluster:
        add_scram_users(cluster)
        with KproxyProcess(cluster.bootstrap_servers, settings=own_settings(mechanism)) as kproxy:
            kproxy.wait_until_ready()
            topic = filled_topic(kproxy, group)

            # When
            with ConfluentShareMember(
                kproxy.bootstrap_servers, group=group, topics=[topic], settings=client_settings(mechanism)
            ) as member:
                member.wait_until_ready()
                values = taken(member, 3)
    # Then
    assert values == ["a", "b", "c"]
