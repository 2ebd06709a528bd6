"""Secrets in files, read anew for each login."""

from pathlib import Path

import pytest

from kproxy.net.authentication.credentials import (
    FileTokens,
    PasswordCredentials,
    TokenCredentials,
    read_secret_file,
)
from kproxy.net.broker_failures import AuthenticationRefused


async def test_a_password_that_was_changed_is_that_of_the_next_login(tmp_path: Path) -> None:
    # Given
    file = tmp_path / "password"
    credentials = PasswordCredentials("PLAIN", "kproxy", lambda: read_secret_file("key", file))
    file.write_text("old\n")
    said = [(await credentials.login()).begin()]

    # When
    file.write_text("new\r\n")

    # Then
    said.append((await credentials.login()).begin())
    assert said == [b"\0kproxy\0old", b"\0kproxy\0new"]


async def test_no_two_logins_with_scram_have_the_same_nonce() -> None:
    # Given
    credentials = PasswordCredentials("SCRAM-SHA-512", "kproxy", lambda: "pencil")

    # When
    firsts = {(await credentials.login()).begin() for _ in range(10)}

    # Then
    assert len(firsts) == 10
    assert all(first.startswith(b"n,,n=kproxy,r=") for first in firsts)


async def test_a_token_that_was_written_anew_is_that_of_the_next_login(tmp_path: Path) -> None:
    # Given
    file = tmp_path / "token"
    credentials = TokenCredentials(FileTokens("key", file))
    file.write_text("a.b.c\n")
    said = [(await credentials.login()).begin()]

    # When
    file.write_text(" d.e.f ")

    # Then
    said.append((await credentials.login()).begin())
    assert said == [f"n,,\x01auth=Bearer {token}\x01\x01".encode() for token in ("a.b.c", "d.e.f")]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read: No such file"),
        (b"", "has nothing in it"),
        (b"\n", "has nothing in it"),
        (b"\xff", "is not text in UTF-8"),
        (b"x" * 70_000, "more than 65536 bytes"),
    ],
)
def test_a_file_that_has_no_secret_is_named_with_its_key(
    tmp_path: Path, content: bytes | None, words: str
) -> None:
    # Given
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)

    # When, then
    with pytest.raises(AuthenticationRefused, match=f"the.key: {file}.*{words}"):
        read_secret_file("the.key", file)


@pytest.mark.parametrize("content", ["two words", "täken", "a\x01b"])
async def test_what_is_no_token_is_not_sent(tmp_path: Path, content: str) -> None:
    # Given
    file = tmp_path / "token"
    file.write_text(content)

    # When
    with pytest.raises(AuthenticationRefused, match="does not have a token in it") as refusal:
        await FileTokens("key", file).token()

    # Then
    assert content not in str(refusal.value)
