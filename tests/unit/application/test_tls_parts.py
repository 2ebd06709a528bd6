import subprocess
import sys

import pytest

from kproxy.application.tls_parts import check_tls, tls_parts
from kproxy.errors import KproxyError
from kproxy.settings import Settings
from kproxy.settings.choices import ClientAuth, ListenerSecurityProtocol, UpstreamSecurityProtocol
from tests.unit.net.tls_contexts import now_ms
from tests.worlds.backing import CountedThings
from tests.worlds.certificates import authority, issued

BOTH_SIDES = Settings(
    listener_security_protocol=ListenerSecurityProtocol.SSL,
    ssl_keystore_location=(str(issued("listener").certificate), str(issued("listener").key)),
    ssl_truststore_location=str(authority().file),
    ssl_client_auth=ClientAuth.REQUIRED,
    upstream_security_protocol=UpstreamSecurityProtocol.SASL_SSL,
    upstream_ssl_truststore_location=str(authority().file),
    upstream_ssl_keystore_location=(str(issued("upstream").both),),
)


def test_each_side_has_a_context_and_its_certificates_are_told_of() -> None:
    # When
    parts = tls_parts(BOTH_SIDES, wall_ms=now_ms, counting=CountedThings())

    # Then
    assert [each.role for each in parts.certificates()] == [
        "listener",
        "listener_trust",
        "upstream",
        "upstream_trust",
    ]


def test_a_fleet_has_contexts_for_both_ends_and_its_certificates_are_told_of_once() -> None:
    # When
    settings = Settings(
        fleet_ssl_keystore_location=(str(issued("fleet").both),),
        fleet_ssl_truststore_location=str(authority().file),
    )
    parts = tls_parts(settings, wall_ms=now_ms, counting=CountedThings())

    # Then
    assert [each.role for each in parts.certificates()] == ["fleet", "fleet_trust"]
    assert parts.fleet is not None
    assert parts.fleet.context is not parts.fleet.dialling.context
    assert (parts.listener, parts.upstream) == (None, None)


def test_without_tls_there_are_no_contexts() -> None:
    # When
    parts = tls_parts(Settings(), wall_ms=now_ms, counting=CountedThings())

    # Then
    assert (parts.listener, parts.upstream, parts.certificates()) == (None, None, [])


def test_brokers_may_be_judged_by_the_authorities_of_the_operating_system() -> None:
    # When
    settings = Settings(upstream_security_protocol=UpstreamSecurityProtocol.SSL)
    parts = tls_parts(settings, wall_ms=now_ms, counting=CountedThings())

    # Then
    assert parts.upstream is not None
    assert parts.certificates() == []


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (
            Settings(
                listener_security_protocol=ListenerSecurityProtocol.SSL,
                ssl_keystore_location=("/none/tls.pem",),
            ),
            "ssl.keystore.location /none/tls.pem cannot be read",
        ),
        (
            Settings(
                fleet_ssl_keystore_location=("/none/tls.pem",),
                fleet_ssl_truststore_location=str(authority().file),
            ),
            "kproxy.fleet.ssl.keystore.location /none/tls.pem cannot be read",
        ),
        (Settings(ssl_principal_mapping_rules="default"), "ssl.principal.mapping.rules has 'default'"),
    ],
)
def test_what_cannot_be_used_is_found_before_anything_is_started(settings: Settings, why: str) -> None:
    with pytest.raises(KproxyError, match=why):
        check_tls(settings, now_ms)


def test_a_process_without_tls_does_not_load_what_reads_certificates() -> None:
    # When
    loaded = "import sys, kproxy.application; print('cryptography' in sys.modules)"
    written = subprocess.run(
        [sys.executable, "-c", loaded], capture_output=True, check=True, text=True
    ).stdout

    # Then
    assert written.strip() == "False"
