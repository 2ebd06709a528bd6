"""How commands are let in; real clusters are asked in tests/kafka/test_secured_clusters.py."""

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kproxy.cli.cluster_access import Security, security_of
from kproxy.clients.failures import NotAllowed
from kproxy.errors import SettingsError
from kproxy.settings import Assignment, load_settings
from tests.worlds.certificate_authority import CertificateAuthority


def security(values: Mapping[str, object], command_config: Path | None = None) -> Security:
    said = [Assignment(key, str(value), "-X") for key, value in values.items()]
    return security_of(load_settings(environment={}, command_line=said).settings, command_config)


def test_where_nothing_is_said_brokers_are_reached_in_plaintext() -> None:
    # When
    found = security({})

    # Then
    assert found.is_plaintext
    assert (found.access().tls, found.access().new_login) == (None, None)
    assert found.reader_options() == {}


def test_tls_and_a_password_that_is_read_at_each_login(tmp_path: Path) -> None:
    # Given
    authority = CertificateAuthority(tmp_path)
    password = tmp_path / "password"
    password.write_text("wonderland\n")
    found = security(
        {
            "upstream.security.protocol": "SASL_SSL",
            "upstream.ssl.truststore.location": authority.file,
            "upstream.ssl.keystore.location": authority.issue("me").both,
            "upstream.sasl.mechanism": "PLAIN",
            "upstream.sasl.username": "alice",
            "upstream.sasl.password.file": password,
        }
    )

    # When
    access, options = found.access(), dict(found.reader_options())

    # Then
    assert not found.is_plaintext
    assert access.tls is not None
    assert access.tls.verify_mode is ssl.CERT_REQUIRED
    assert access.new_login is not None
    assert access.new_login().begin() == b"\0alice\0wonderland"
    password.write_text("looking-glass")
    assert access.new_login().begin() == b"\0alice\0looking-glass"
    assert isinstance(options.pop("ssl_context"), ssl.SSLContext)
    assert options == {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "alice",
        "sasl_plain_password": "wonderland",
    }


def test_tokens_are_read_whenever_one_is_wanted(tmp_path: Path) -> None:
    # Given
    token = tmp_path / "token"
    token.write_text("first")
    found = security(
        {
            "upstream.security.protocol": "SASL_PLAINTEXT",
            "upstream.sasl.mechanism": "OAUTHBEARER",
            "upstream.sasl.oauthbearer.token.endpoint.url": token.as_uri(),
        }
    )

    # When
    provider: Any = found.reader_options()["sasl_oauth_token_provider"]
    token.write_text("second")

    # Then
    assert provider.token() == "second"
    login = found.access().new_login
    assert login is not None
    assert b"auth=Bearer second" in login().begin()


def test_a_file_of_kafkas_tools_counts_in_place_of_kproxys_own(tmp_path: Path) -> None:
    # Given
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=SSL\nssl.truststore.location=/nowhere.pem\n")

    # When
    found = security({"upstream.security.protocol": "PLAINTEXT"}, file)

    # Then: in the file's words
    assert found.is_of_client
    with pytest.raises(SettingsError, match=r"^ssl.truststore.location /nowhere.pem cannot be read"):
        found.access()


def test_a_failed_handshake_is_explained_with_the_keys_to_set() -> None:
    # When
    own, clients = (
        Security(security({}).settings, is_of_client=is_of_client)
        .access()
        .words_of(ConnectionResetError(), "b1")
        for is_of_client in (False, True)
    )

    # Then
    assert own == clients
    assert "its listener may speak plaintext" in own


def test_a_secret_that_cannot_be_read_is_said_to_be_missing(tmp_path: Path) -> None:
    # Given
    found = security(
        {
            "upstream.security.protocol": "SASL_PLAINTEXT",
            "upstream.sasl.mechanism": "PLAIN",
            "upstream.sasl.username": "alice",
            "upstream.sasl.password.file": tmp_path / "password",
        }
    )
    login = found.access().new_login
    assert login is not None

    # When, then
    for ask in (login, found.reader_options):
        with pytest.raises(NotAllowed, match=r"upstream.sasl.password.file: .* cannot be read"):
            ask()
