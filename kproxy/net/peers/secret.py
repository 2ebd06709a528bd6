"""The secret that the processes of a fleet share."""

import ipaddress
from pathlib import Path
from typing import Final

from kproxy.errors import KproxyError
from kproxy.settings.addresses import HostPort
from kproxy.wording import counted

FEWEST_BYTES: Final = 16
"""Whoever reaches the listener hears what the secret made of known bytes, and may try secrets on that."""

MOST_BYTES: Final = 4096


class SecretUnusable(KproxyError):
    """The file of the secret cannot be used, or there is none where one is needed. kproxy prints it and ends."""


def read_secret(path: Path) -> bytes:
    """Return the secret in a file, without white space around it. Raises SecretUnusable."""
    try:
        with path.open("rb") as file:
            secret = file.read(MOST_BYTES + 1).strip()
    except OSError as error:
        raise SecretUnusable(f"kproxy.fleet.secret.file: {path} cannot be read: {error.strerror}") from error
    if not FEWEST_BYTES <= len(secret) <= MOST_BYTES:
        raise SecretUnusable(
            f"kproxy.fleet.secret.file: the secret in {path} has {counted(len(secret), 'byte')}, expected "
            f"{FEWEST_BYTES} to {MOST_BYTES}; write one with: openssl rand -hex 32"
        )
    return secret


def require_guard(listener: HostPort, *, is_guarded: bool) -> None:
    """Raise SecretUnusable if others than this machine could reach `listener`, and there is no secret and no TLS."""
    if not is_guarded and not is_loopback(listener.host):
        raise SecretUnusable(
            f"kproxy.fleet.listener is {listener}, which other machines may reach, and whoever reaches it is served "
            "as any client: set kproxy.fleet.secret.file, the same for all processes, or "
            "kproxy.fleet.ssl.keystore.location and kproxy.fleet.ssl.truststore.location, or listen on 127.0.0.1"
        )


def is_loopback(host: str) -> bool:
    """Tell whether `host` is an address of this machine that nobody else reaches."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
