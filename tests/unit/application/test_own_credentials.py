"""From the settings to what kproxy's own connections authenticate with."""

from pathlib import Path

import pytest

from kproxy.application.own_credentials import own_credentials
from kproxy.net.authentication.token_endpoint import EndpointTokens
from kproxy.settings import Settings, load_settings
from kproxy.settings.sources import Assignment
from tests.in_memory.manual_clock import ManualClock

URL = "upstream.sasl.oauthbearer.token.endpoint.url"
CLIENT = "upstream.sasl.oauthbearer.client.credentials.client"


def settings_of(mechanism: str, **values: str) -> Settings:
    """Return settings of a cluster that asks."""
    said = {"upstream.security.protocol": "SASL_PLAINTEXT", "upstream.sasl.mechanism": mechanism, **values}
    assignments = [Assignment(key, text, "-X") for key, text in said.items()]
    return load_settings(environment={}, command_line=assignments).settings


def test_a_cluster_that_does_not_ask_is_told_nothing() -> None:
    assert own_credentials(Settings(), ManualClock()) is None


@pytest.mark.parametrize("has_file", [False, True])
async def test_a_password_is_configured_or_in_a_file(tmp_path: Path, *, has_file: bool) -> None:
    # Given
    file = tmp_path / "password"
    file.write_text("pencil\n")
    secret = {"upstream.sasl.password.file": str(file)} if has_file else {"upstream.sasl.password": "pencil"}
    settings = settings_of("PLAIN", **{"upstream.sasl.username": "kproxy"}, **secret)

    # When
    credentials = own_credentials(settings, ManualClock())

    # Then
    assert credentials is not None
    assert (await credentials.login()).begin() == b"\0kproxy\0pencil"


async def test_a_token_is_in_a_file(tmp_path: Path) -> None:
    # Given
    file = tmp_path / "a token"
    file.write_text("a.b.c\n")

    # When
    credentials = own_credentials(settings_of("OAUTHBEARER", **{URL: file.as_uri()}), ManualClock())

    # Then
    assert credentials is not None
    assert (await credentials.login()).begin() == b"n,,\x01auth=Bearer a.b.c\x01\x01"


def test_a_token_comes_from_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    made: list[tuple[object, ...]] = []
    monkeypatch.setattr(
        EndpointTokens, "__init__", lambda _self, *said, **more: made.append((*said, *more.values()))
    )
    client = {f"{CLIENT}.id": "kproxy", f"{CLIENT}.secret": "pencil"}

    # When
    own_credentials(
        settings_of(
            "OAUTHBEARER", **{URL: "https://idp/t"}, **client, **{"upstream.sasl.oauthbearer.scope": "all"}
        ),
        clock := ManualClock(),
    )

    # Then
    [(url, client_id, read_secret, scope, given_clock)] = made
    assert (url, client_id, scope, given_clock) == ("https://idp/t", "kproxy", "all", clock)
    assert callable(read_secret)
    assert read_secret() == "pencil"
