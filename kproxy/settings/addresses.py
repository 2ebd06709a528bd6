"""Addresses as people write them: `host:port`, with brackets around an IPv6 address."""

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

WILDCARD_HOSTS: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - named so as to be refused
"""Hosts that bind every address of the machine and that nobody can connect to by name."""

NODE_ID_PLACE: Final = "$(nodeId)"
"""Stands for a broker's node id in an advertised host."""

LAST_PORT: Final = 65535
"""The highest TCP port, inclusive."""


@dataclass(frozen=True, slots=True, order=True)
class HostPort:
    """A TCP address. `host` is a name or an address without brackets; port 0 stands for any free port."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return the text that `parse_host_port` reads back."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_wildcard(self) -> bool:
        """Whether the host binds every address of the machine."""
        return self.host in WILDCARD_HOSTS

    @property
    def is_loopback(self) -> bool:
        """Whether only processes of this machine can connect to the host; of a name only `localhost` is known to be."""
        try:
            return self.host == "localhost" or ip_address(self.host).is_loopback
        except ValueError:
            return False

    def collides_with(self, other: "HostPort") -> bool:
        """Whether both cannot be bound at once. Port 0 collides with nothing."""
        same_host = self.host == other.host or self.is_wildcard or other.is_wildcard
        return same_host and self.port == other.port != 0


def parse_host_port(text: str, *, first_port: int) -> HostPort:
    """Read `host:port` or `[address]:port` with a port from `first_port` to 65535.

    Raises:
        ValueError: says what is wrong with `text`, in words for the person who wrote it.
    """
    if "://" in text:
        raise ValueError("expected HOST:PORT without a protocol in front")
    host, colon, port_text = text.strip().rpartition(":")
    if not colon:
        raise ValueError("expected HOST:PORT, and the port is missing")
    return HostPort(_bare_host(host), _port(port_text, first_port))


def check_host(host: str) -> None:
    """Accept a name or an address that stands alone.

    Raises:
        ValueError: `host` is empty or holds a character that no host has.
    """
    if not host:
        raise ValueError("expected a host name or an address, and it is empty")
    strange = sorted({character for character in host if not _belongs_in_host(character)})
    if strange:
        raise ValueError(f"expected a host name or an address, and {''.join(strange)!r} belongs in neither")


def _belongs_in_host(character: str) -> bool:
    return character.isalnum() or character in "-._:%"


def _bare_host(host: str) -> str:
    is_bracketed = host.startswith("[") and host.endswith("]")
    if ":" in host and not is_bracketed:
        raise ValueError("expected HOST:PORT; an IPv6 address needs brackets, as in [::1]:9092")
    bare = host[1:-1] if is_bracketed else host
    check_host(bare)
    return bare


def _port(text: str, first_port: int) -> int:
    if not (text.isascii() and text.isdigit()) or not first_port <= int(text) <= LAST_PORT:
        raise ValueError(f"expected a port from {first_port} to {LAST_PORT}, not {text!r}")
    return int(text)
