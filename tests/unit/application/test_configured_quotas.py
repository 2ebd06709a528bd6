"""From settings to the limits of client connections."""

import logging

import pytest

from kproxy.application.configured_quotas import client_quotas, quota_limits, relay_limits
from kproxy.net.relay.limits.connection_quotas import QuotaLimits
from kproxy.net.relay.relay import RelayLimits
from kproxy.settings import Settings
from kproxy.settings.choices import UpstreamSecurityProtocol


def test_every_limit_comes_from_its_key() -> None:
    settings = Settings(
        max_connections=5,
        max_connections_per_ip=3,
        max_connections_per_ip_overrides={"10.0.0.7": 2, "::1": 1},
        max_unauthenticated_connections=4,
    )

    assert quota_limits(settings) == QuotaLimits(5, 3, {"10.0.0.7": 2, "::1": 1}, 4)


def test_a_host_name_stands_for_its_addresses() -> None:
    limits = quota_limits(Settings(max_connections_per_ip_overrides={"localhost": 7}))

    assert limits.of("127.0.0.1") == 7


def test_a_name_that_nobody_knows_is_told_of_and_has_no_effect(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        limits = quota_limits(Settings(max_connections_per_ip_overrides={"no-such-host.invalid": 7}))

    assert limits.overrides == {}
    assert [record.msg for record in caplog.records] == ["override_without_address"]


@pytest.mark.parametrize(
    ("protocol", "asks_for_proof"),
    [
        (UpstreamSecurityProtocol.PLAINTEXT, False),
        (UpstreamSecurityProtocol.SSL, False),
        (UpstreamSecurityProtocol.SASL_PLAINTEXT, True),
        (UpstreamSecurityProtocol.SASL_SSL, True),
    ],
)
def test_clients_have_to_prove_who_they_are_where_brokers_ask_for_it(
    protocol: UpstreamSecurityProtocol, *, asks_for_proof: bool
) -> None:
    quotas = client_quotas(Settings(upstream_security_protocol=protocol), 1_024)
    assert quotas.asks_for_proof is asks_for_proof


@pytest.mark.parametrize(("max_connections", "let_in"), [(5, 5), (1_000, 384)])
def test_no_more_connections_are_let_in_than_there_are_open_files_for(
    max_connections: int, let_in: int
) -> None:
    assert client_quotas(Settings(max_connections=max_connections), 1_024).limits.in_all == let_in


def test_the_bounds_of_each_connection_come_from_their_keys() -> None:
    settings = Settings(
        socket_request_max_bytes=1,
        connect_timeout_ms=2,
        frame_deadline_ms=3,
        keepalive_ms=4,
        connections_max_idle_ms=5,
        handshake_deadline_ms=6,
        connection_max_requests_per_second=7,
    )

    assert relay_limits(settings) == RelayLimits(1, 2, 3, 4, 5, 6, 7)
