import pytest

from kproxy.errors import SettingsError
from kproxy.settings import KEYS, Settings, load_settings
from kproxy.settings.choices import UpstreamSecurityProtocol
from kproxy.settings.sources import Assignment, problems_of_source


def test_nothing_is_encrypted_unless_somebody_asks_for_it() -> None:
    # When
    settings = Settings()

    # Then
    assert not settings.has_tls_ports
    assert not settings.upstream_security_protocol.has_tls


def test_the_defaults_are_those_of_kafka() -> None:
    # When: Kafka 4.3.1, SslConfigs and BrokerSecurityConfigs
    names = ("enabled.protocols", "client.auth", "principal.mapping.rules")
    defaults = [KEYS[f"ssl.{name}"].default for name in names]

    # Then
    assert defaults == ["TLSv1.2,TLSv1.3", "none", "DEFAULT"]
    assert KEYS["upstream.ssl.endpoint.identification.algorithm"].default == "https"


@pytest.mark.parametrize(
    ("word", "has_tls"), [("PLAINTEXT", False), ("SSL", True), ("SASL_PLAINTEXT", False), ("SASL_SSL", True)]
)
def test_the_protocol_of_the_brokers_says_whether_there_is_tls(word: str, has_tls: bool) -> None:  # noqa: FBT001 - of the table
    assert UpstreamSecurityProtocol(word).has_tls is has_tls


def test_sasl_is_no_word_for_what_ports_speak_because_it_passes() -> None:
    with pytest.raises(SettingsError, match="expected PLAINTEXT or SSL: SASL passes through either"):
        load_settings(environment={"KPROXY_LISTENER_SECURITY_PROTOCOL": "SASL_SSL"})


def test_a_password_that_is_given_twice_is_not_shown() -> None:
    # When
    (problem,) = problems_of_source(
        [Assignment("ssl.key.password", "geheim", "-X"), Assignment("ssl.key.password", "other", "-X")]
    )

    # Then
    assert problem == "ssl.key.password is [hidden] (-X) and [hidden] (-X): keep one of them"


def test_no_text_of_all_settings_has_a_password_in_it() -> None:
    # Given
    loaded = load_settings(environment={"KPROXY_SSL_KEY_PASSWORD": "geheim"})

    # Then
    assert "geheim" not in repr(loaded)
    assert KEYS["ssl.key.password"].text_in(loaded.settings) == "[hidden]"
