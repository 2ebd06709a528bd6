"""What Java's clients say of TLS and SASL, for kafka-python."""

from pathlib import Path
from typing import Any

import pytest

from kproxy.clients.topic_reader import KNOWN_OPTIONS
from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.sources.client_properties import client_options
from kproxy.jobs.sources.security_properties import is_of_java, security_options


def test_properties_of_java_become_options_of_kafka_python_beside_its_own() -> None:
    # When
    options = client_options(
        {
            "security.protocol": "SASL_SSL",
            "ssl.truststore.type": "pem",
            "ssl.truststore.location": "/ca.pem",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": "/both.pem",
            "ssl.key.password": "geheim",
            "ssl.endpoint.identification.algorithm": "",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.jaas.config": 'x.ScramLoginModule required username="kproxy" password="pencil";',
            "request.timeout.ms": "5000",
        },
        KNOWN_OPTIONS,
    )

    # Then
    assert options == {
        "security_protocol": "SASL_SSL",
        "ssl_cafile": "/ca.pem",
        "ssl_certfile": "/both.pem",
        "ssl_password": "geheim",
        "ssl_check_hostname": False,
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_plain_username": "kproxy",
        "sasl_plain_password": "pencil",
        "request_timeout_ms": 5000,
    }
    assert options.keys() <= KNOWN_OPTIONS.keys()


def test_tokens_are_read_from_a_file_whenever_one_is_wanted(tmp_path: Path) -> None:
    # Given
    token = tmp_path / "token"
    options = security_options(
        {
            "sasl.oauthbearer.token.endpoint.url": token.as_uri(),
            "sasl.login.callback.handler.class": "org.apache.kafka.…",
            "sasl.jaas.config": "x.OAuthBearerLoginModule required;",
        }
    )

    # When
    token.write_text("t\n")

    # Then
    provider: Any = options.pop("sasl_oauth_token_provider")
    assert provider.token() == "t"
    assert options == {}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("ssl.keystore.type", "JKS", "reads PEM alone"),
        ("sasl.jaas.config", "x.PlainLoginModule required", "expected one login module"),
        ("sasl.jaas.config", 'x.PlainLoginModule required username="a";', "PlainLoginModule needs password"),
        ("sasl.jaas.config", "x.Krb5LoginModule required;", "not Krb5LoginModule"),
        (
            "sasl.jaas.config",
            "x.OAuthBearerLoginModule required;",
            "needs -K sasl.oauthbearer.token.endpoint.url=file:///PATH",
        ),
        ("sasl.oauthbearer.token.endpoint.url", "https://idp/token", "takes tokens from a file"),
    ],
)
def test_what_cannot_be_done_is_bad_usage(name: str, value: str, words: str) -> None:
    assert is_of_java(name)
    with pytest.raises(JobFailed, match=f"-K {name}") as refusal:
        security_options({name: value})
    assert words in str(refusal.value)
    assert refusal.value.exit_code is ExitCode.USAGE
