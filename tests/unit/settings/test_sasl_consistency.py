"""What each mechanism needs."""

from collections.abc import Mapping

import pytest

from kproxy.errors import SettingsError
from kproxy.settings import load_settings
from kproxy.settings.sources import Assignment

SECURED = {"upstream.security.protocol": "SASL_PLAINTEXT"}
PLAIN = {**SECURED, "upstream.sasl.mechanism": "PLAIN", "upstream.sasl.username": "kproxy"}
BEARER = {**SECURED, "upstream.sasl.mechanism": "OAUTHBEARER"}
URL = "upstream.sasl.oauthbearer.token.endpoint.url"
CLIENT = "upstream.sasl.oauthbearer.client.credentials.client"


def load(values: Mapping[str, str]) -> None:
    """Read a command line."""
    assignments = [Assignment(key, text, "-X") for key, text in values.items()]
    load_settings(environment={}, command_line=assignments)


@pytest.mark.parametrize(
    "values",
    [
        {**PLAIN, "upstream.sasl.password": "x"},
        {**PLAIN, "upstream.sasl.password.file": "/run/password"},
        {**PLAIN, "upstream.sasl.mechanism": "SCRAM-SHA-512", "upstream.sasl.password": "x"},
        {**BEARER, URL: "file:///run/token"},
        {**BEARER, URL: "https://idp/token", f"{CLIENT}.id": "kproxy", f"{CLIENT}.secret": "x"},
        {
            **BEARER,
            URL: "https://idp/token",
            f"{CLIENT}.id": "kproxy",
            f"{CLIENT}.secret.file": "/run/secret",
        },
    ],
)
def test_what_a_mechanism_needs_is_enough(values: Mapping[str, str]) -> None:
    # When, then
    load(values)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (SECURED, "needs upstream.sasl.mechanism: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER"),
        ({**SECURED, "upstream.sasl.mechanism": "PLAIN"}, r"PLAIN \(-X\) needs upstream.sasl.username"),
        (PLAIN, "needs upstream.sasl.password or upstream.sasl.password.file"),
        (BEARER, f"needs {URL}"),
        ({**BEARER, URL: "https://idp/token"}, f"needs {CLIENT}.id"),
        (
            {**BEARER, URL: "https://idp", f"{CLIENT}.id": "k"},
            f"needs {CLIENT}.secret or {CLIENT}.secret.file",
        ),
        (
            {**PLAIN, "upstream.sasl.password": "pencil", "upstream.sasl.password.file": "/run/p"},
            r"upstream.sasl.password = \[hidden\] \(-X\) and upstream.sasl.password.file = /run/p \(-X\)",
        ),
        (
            {"upstream.sasl.mechanism": "PLAIN"},
            r"upstream.sasl.mechanism = PLAIN \(-X\) says nothing where upstream.security.protocol = PLAINTEXT",
        ),
    ],
)
def test_what_is_missing_or_says_nothing_is_named(values: Mapping[str, str], problem: str) -> None:
    # When
    with pytest.raises(SettingsError, match=problem) as refusal:
        load(values)

    # Then
    assert "pencil" not in str(refusal.value)
