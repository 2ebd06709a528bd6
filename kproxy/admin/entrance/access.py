"""`AccessRules`: which requests the admin port answers. Pure.

A browser on the operator's desk may be led here by any page: by a name of that page's own that suddenly resolves to
this address (DNS rebinding), or by a request that the page sends across origins. Host and Origin tell: a browser sets
them, and no page can change them. Who is no browser proves with the token that it may ask.
"""

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address
from typing import Final

from kproxy.settings import HostPort

OPEN_PATHS: Final = frozenset({"/livez", "/readyz", "/metrics"})
"""What probes and Prometheus ask; they need no token, wherever the port is bound."""
PAGES: Final = "/ui"
"""Pages and scripts that are the same for everybody. What they show comes from `/api`."""


class Reason(StrEnum):
    """Why a request, or a connection, is refused: the label of the counter."""

    HOST = "host"
    ORIGIN = "origin"
    TOKEN = "token"  # noqa: S105 - a label
    TOO_LARGE = "too_large"
    TOO_SLOW = "too_slow"
    TOO_MANY = "too_many"
    MALFORMED = "malformed"
    READER_STALLED = "reader_stalled"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not answered: for the counter, as HTTP has it, and for the person who asked."""

    reason: Reason
    status: int
    message: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What counts of a request.

    `resource` is the path as it is served, empty where there is none; `local_address` the address of this machine that
    the connection came to, empty if unknown. None stands for a header that was not sent.
    """

    resource: str
    hosts: tuple[str, ...]
    local_address: str
    origin: str | None = None
    authorization: str | None = None
    fetch_site: str | None = None
    """Sec-Fetch-Site: where the page is from that asks, which browsers also say when they send no Origin."""
    is_navigation: bool = False
    """Whether somebody follows a link, as to a page of kproxy's."""
    is_http_1_0: bool = False


@dataclass(frozen=True, slots=True)
class AccessRules:
    """Whom the port at `listener` answers.

    `allowed_hosts` are further names that lead here, and whose pages may ask; by `own_names` it is only asked.
    """

    listener: HostPort
    allowed_hosts: tuple[str, ...] = ()
    has_token: bool = False
    own_names: tuple[str, ...] = ()

    @property
    def is_closed(self) -> bool:
        """Whether others than this machine reach the port, and nothing tells who of them may ask."""
        return not self.listener.is_loopback and not self.has_token

    def needs_token(self, resource: str) -> bool:
        """Tell whether a path is answered only to those with the token."""
        is_open = resource in OPEN_PATHS or resource == PAGES or resource.startswith(f"{PAGES}/")
        return not is_open and (self.has_token or self.is_closed)

    def refusal(self, asked: Asked) -> Refusal | None:
        """Return why a request comes from where none may come from; None if it may. The token is another question."""
        return self._refused_host(asked) or self._refused_origin(asked)

    def token_refusal(self, asked: Asked, token: str) -> Refusal | None:
        """Return why a request that needs the token is refused; `token` is the one to show, empty for none."""
        if not token:
            return Refusal(
                Reason.TOKEN,
                403,
                f"kproxy.admin.listener = {self.listener} lets other machines in, and nothing tells who may ask: set "
                "kproxy.admin.token.file, or listen on 127.0.0.1; /livez, /readyz and /metrics need no token",
            )
        scheme, _, shown = (asked.authorization or "").partition(" ")
        shown_bytes = shown.strip().encode(errors="surrogateescape")  # a header may hold any bytes
        if scheme.lower() == "bearer" and hmac.compare_digest(shown_bytes, token.encode()):
            return None
        what = "the token that was sent is another one" if asked.authorization else "none was sent"
        return Refusal(
            Reason.TOKEN,
            401,
            f"this admin port wants the token of its kproxy.admin.token.file, and {what}: give --admin-token-file FILE "
            "or KPROXY_ADMIN_TOKEN_FILE, or the header Authorization: Bearer TOKEN",
        )

    def _refused_host(self, asked: Asked) -> Refusal | None:
        if not asked.hosts and asked.is_http_1_0:
            return None  # older than the header: no browser
        if len(asked.hosts) != 1:
            return Refusal(Reason.HOST, 400, f"expected one header Host, and there are {len(asked.hosts)}")
        name = host_name(asked.hosts[0])
        if _is_loopback(name) or name in self._known(asked.local_address):
            return None
        return Refusal(
            Reason.HOST,
            403,
            f"this admin port is not known as {name!r}: it is bound to {self.listener}; if that name leads here on "
            f"purpose, add it to kproxy.admin.allowed.hosts",
        )

    def _known(self, local_address: str) -> frozenset[str]:
        names = (self.listener.host, local_address, *self.allowed_hosts, *self.own_names)
        return _plain_all(name for name in names if name)

    def _refused_origin(self, asked: Asked) -> Refusal | None:
        origin = asked.origin
        if origin is None:
            return self._refused_site(asked)
        scheme, separator, place = origin.partition("://")
        if separator and scheme in {"http", "https"}:
            if any(place.lower() == host.lower() for host in asked.hosts):
                return None
            if host_name(place) in _plain_all(self.allowed_hosts):
                return None
        return Refusal(
            Reason.ORIGIN,
            403,
            f"pages of {origin!r} may not ask this admin port; if its page is served there on purpose, add that host "
            "to kproxy.admin.allowed.hosts",
        )

    @staticmethod
    def _refused_site(asked: Asked) -> Refusal | None:
        """Refuse what a page of another site embeds, such as an image: it reads nothing, but makes kproxy work."""
        if asked.is_navigation or asked.fetch_site in {None, "same-origin", "none"}:
            return None
        message = (
            "pages of other sites may not ask this admin port (Sec-Fetch-Site); a link to it may be followed"
        )
        return Refusal(Reason.ORIGIN, 403, message)


def host_name(place: str) -> str:
    """Return the host of HOST, HOST:PORT, [ADDRESS] or [ADDRESS]:PORT, in the form in which hosts are compared."""
    if place.startswith("["):
        return _plain(place[1:].partition("]")[0])
    return _plain(place.partition(":")[0])


def _plain(host: str) -> str:
    """Return a name or an address as it is compared: `::ffff:10.0.0.1` is 10.0.0.1, and `fe80::1%eth0` is fe80::1."""
    bare = host.strip().lower().removesuffix(".")
    try:
        address = ip_address(bare.partition("%")[0])
    except ValueError:
        return bare
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def _plain_all(hosts: Iterable[str]) -> frozenset[str]:
    return frozenset(map(_plain, hosts))


def _is_loopback(name: str) -> bool:
    try:
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False
