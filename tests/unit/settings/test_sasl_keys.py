"""The part of the table of keys about SASL."""

import pytest

from kproxy.errors import SettingsError
from kproxy.settings import KEYS, Settings, load_settings
from kproxy.settings.choices import SaslMechanism
from kproxy.settings.sources import Assignment


def set_to(**values: str) -> Settings:
    """Return the settings of a command line."""
    assignments = [Assignment(key.replace("_", "."), text, "-X") for key, text in values.items()]
    return load_settings(environment={}, command_line=assignments).settings


@pytest.mark.parametrize("mechanism", SaslMechanism)
def test_a_mechanism_is_named_as_kafka_names_it_in_any_case(mechanism: SaslMechanism) -> None:
    key = KEYS["upstream.sasl.mechanism"]
    assert key.kind.parse(mechanism.lower()) is mechanism
    assert key.kind.parse(key.kind.write(mechanism)) is mechanism


@pytest.mark.parametrize("name", ["GSSAPI", "SCRAM-SHA-1"])
def test_a_mechanism_that_kproxy_does_not_speak_is_refused_with_those_that_it_does(name: str) -> None:
    with pytest.raises(
        SettingsError, match="expected one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER"
    ):
        set_to(upstream_sasl_mechanism=name)


def test_secrets_are_never_shown() -> None:
    # Given
    settings = set_to(
        upstream_security_protocol="SASL_PLAINTEXT",
        upstream_sasl_mechanism="PLAIN",
        upstream_sasl_username="kproxy",
        upstream_sasl_password="pencil",
        upstream_sasl_oauthbearer_client_credentials_client_secret="pencil",
    )

    # When
    shown = [key.text_in(settings) for key in KEYS.values()] + [repr(settings)]

    # Then
    assert not [text for text in shown if "pencil" in text]
    assert settings.upstream_sasl_password.reveal() == "pencil"


@pytest.mark.parametrize("url", ["tokens", "ftp://host/tokens", "file:tokens"])
def test_tokens_come_from_http_or_a_file(url: str) -> None:
    with pytest.raises(SettingsError, match="expected https://HOST/PATH, http://HOST/PATH or file:///PATH"):
        set_to(upstream_sasl_oauthbearer_token_endpoint_url=url)


def test_the_claim_that_names_the_principal_has_a_name() -> None:
    assert Settings().sasl_oauthbearer_sub_claim_name == "sub"
    with pytest.raises(SettingsError, match="expected the name of a claim"):
        set_to(sasl_oauthbearer_sub_claim_name=" ")
