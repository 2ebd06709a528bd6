"""The secret of a fleet: read from a file, and needed wherever others could reach the listener."""

from pathlib import Path

import pytest

from kproxy.net.peers.secret import SecretUnusable, is_loopback, read_secret, require_guard
from kproxy.settings import HostPort


def test_a_secret_is_what_stands_in_the_file_without_white_space_around_it(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"  sixteen bytes of it \n")

    assert read_secret(path) == b"sixteen bytes of it"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "has 0 bytes, expected 16 to 4096"),
        (b"fifteen bytes..\n", "has 15 bytes"),
        (b"x" * 5_000, "has 4097 bytes"),
    ],
)
def test_a_secret_of_another_size_is_refused_with_what_to_do(
    tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "secret"
    path.write_bytes(content)

    with pytest.raises(SecretUnusable, match=f"{words}.*openssl rand -hex 32"):
        read_secret(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        SecretUnusable, match=r"kproxy.fleet.secret.file: .*nowhere cannot be read: No such file"
    ):
        read_secret(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("kproxy-1.internal", False),
    ],
)
def test_what_is_not_a_loopback_address_needs_a_secret(host: str, is_local: bool) -> None:  # noqa: FBT001 - parametrized
    listener = HostPort(host, 19_099)

    assert is_loopback(host) is is_local
    require_guard(listener, is_guarded=True)
    if is_local:
        require_guard(listener, is_guarded=False)
    else:
        with pytest.raises(
            SecretUnusable, match=r"which other machines may reach.*set kproxy.fleet.secret.file"
        ):
            require_guard(listener, is_guarded=False)
