"""The file that Kafka's tools take, as settings of kproxy's own connections."""

from pathlib import Path

import pytest

from kproxy.cli.client_properties import settings_of_client
from kproxy.errors import SettingsError
from kproxy.settings import Settings
from kproxy.settings.choices import HostnameCheck, SaslMechanism, UpstreamSecurityProtocol


@pytest.fixture
def said(tmp_path: Path) -> Path:
    return tmp_path / "client.properties"


def settings(said: Path, *lines: str) -> Settings:
    said.write_text("\n".join(lines) + "\n")
    return settings_of_client(said)


def test_it_says_how_brokers_are_reached_and_what_else_it_says_is_passed_over(said: Path) -> None:
    # When
    found = settings(
        said,
        "security.protocol=SASL_SSL",
        "ssl.truststore.type=PEM",
        "ssl.truststore.location=/ca.pem",
        "ssl.keystore.location=/both.pem",
        "ssl.key.password=geheim",
        "ssl.endpoint.identification.algorithm=",
        "sasl.mechanism=SCRAM-SHA-512",
        "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\",
        '  username="alice" password="wonder=land" tokenauth="false";',
        "client.id=me",
        "request.timeout.ms=5000",
        "sasl.login.callback.handler.class=some.Java",
    )

    # Then
    assert found.upstream_security_protocol is UpstreamSecurityProtocol.SASL_SSL
    assert found.upstream_ssl_truststore_location == "/ca.pem"
    assert found.upstream_ssl_keystore_location == ("/both.pem",)
    assert found.upstream_ssl_key_password.reveal() == "geheim"
    assert found.upstream_ssl_endpoint_identification_algorithm is HostnameCheck("")
    assert found.upstream_sasl_mechanism is SaslMechanism("SCRAM-SHA-512")
    assert found.upstream_sasl_username == "alice"
    assert found.upstream_sasl_password.reveal() == "wonder=land"


def test_tokens_come_from_a_file_or_with_the_credentials_of_the_login_module(said: Path) -> None:
    # Given
    login = "sasl.jaas.config=x.OAuthBearerLoginModule required"
    shared = ("security.protocol=SASL_SSL", "sasl.mechanism=OAUTHBEARER")

    # When
    of_file = settings(said, *shared, f"{login};", "sasl.oauthbearer.token.endpoint.url=file:///token")
    of_endpoint = settings(
        said,
        *shared,
        f'{login} clientId="kproxy" clientSecret="s" scope="kafka";',
        "sasl.oauthbearer.token.endpoint.url=https://idp/token",
    )

    # Then
    assert of_file.upstream_sasl_oauthbearer_token_endpoint_url == "file:///token"
    assert of_endpoint.upstream_sasl_oauthbearer_client_credentials_client_id == "kproxy"
    assert of_endpoint.upstream_sasl_oauthbearer_client_credentials_client_secret.reveal() == "s"
    assert of_endpoint.upstream_sasl_oauthbearer_scope == "kafka"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("security.protocol=TLS", "security.protocol = 'TLS' (file "),
        ("security.protocol=SASL_SSL", "needs sasl.mechanism: "),
        ("ssl.truststore.type=JKS", "kproxy reads PEM; convert the store with keytool"),
        ("ssl.truststore.password=geheim", "a file in PEM has no password of its own"),
        ("ssl.trustore.location=/ca.pem", "did you mean ssl.truststore.location?"),
        ("sasl.mechanism=GSSAPI", "expected one of PLAIN"),
        ("sasl.jaas.config=x.PlainLoginModule required", "sasl.jaas.config (file "),
        ("sasl.jaas.config=x.Krb5LoginModule required;", "kproxy does not know Krb5LoginModule"),
        ('sasl.jaas.config=x.ScramLoginModule required tokenauth="true";', "and not tokenauth"),
    ],
)
def test_what_is_wrong_is_told_by_the_names_in_the_file(said: Path, line: str, words: str) -> None:
    with pytest.raises(SettingsError) as wrong:
        settings(said, line)
    assert words in str(wrong.value)
    assert "upstream." not in str(wrong.value)
    assert "geheim" not in str(wrong.value)


def test_a_file_that_cannot_be_read_is_named(said: Path) -> None:
    with pytest.raises(
        SettingsError, match=r"--command-config .*client.properties cannot be read: No such file"
    ):
        settings_of_client(said)
    said.write_bytes(b"\xff")
    with pytest.raises(SettingsError, match="is not UTF-8 text: byte 0"):
        settings_of_client(said)
