"""Asking a running kproxy on its admin port."""

import json
import os
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode, urlsplit

from kproxy.clients.failures import (
    CannotConnect,
    ClientFailed,
    NotAllowed,
    NotThere,
    UnusableToken,
    WrongAddress,
)

if TYPE_CHECKING:
    from urllib.error import HTTPError

_TIMEOUT_S: Final = 5.0
_ACTION_TIMEOUT_S: Final = 15.0
"""An action is answered when it is durable, and maybe by way of another process."""

TOKEN_FILE_VARIABLE: Final = "KPROXY_ADMIN_TOKEN_FILE"  # noqa: S105 - a name
"""The environment's variable that names the file of the token, for `kproxy run`, which wants it, and for who asks."""

TOKEN_FILE: Final[ContextVar[str | None]] = ContextVar("token_file", default=None)
"""The file with the token to show, where whoever asks was told one; it counts before the environment."""

_MOST_TOKEN_BYTES: Final = 1024

Item = Mapping[str, Any]
"""An item of an answer of the admin port."""


def answer_of(
    admin_url: str,
    *path: str,
    query: Mapping[str, str | int | None] | None = None,
    timeout_s: float = _TIMEOUT_S,
) -> Mapping[str, Any]:
    """Return what `/api/v1/` and `path`, whose parts may hold any character, answer. None is not asked for.

    Raises:
        WrongAddress: `admin_url` is none, or has more behind HOST:PORT than the admin port knows.
        CannotConnect: nobody answers there.
        NotAllowed: it wants a token, or another one, or does not answer under this name.
        NotThere: kproxy does not know what was asked for.
        UnusableToken: the file with the token has none.
        ClientFailed: it refused, or somebody else answered.
    """
    asked = urlencode({name: value for name, value in (query or {}).items() if value is not None})
    places = "/".join(quote(part, safe="") for part in ("api", "v1", *path))
    url = f"{_checked(admin_url)}/{places}" + (f"?{asked}" if asked else "")
    answer = _json_of(url, admin_url, timeout_s)
    if not isinstance(answer, dict):
        raise ClientFailed(f"{url} did not answer as a kproxy does: no object")
    return answer


def acted(
    admin_url: str, request: Mapping[str, Any], *, timeout_s: float = _ACTION_TIMEOUT_S
) -> Mapping[str, Any]:
    """Return what kproxy answers to a request to change something, or to tell what it would change.

    Raises what `answer_of` raises, and NotAllowed: it takes none there. CannotConnect means that it was not asked;
    where it was, and did not answer, it is a plain ClientFailed that says so.
    """
    url = f"{_checked(admin_url)}/api/v1/actions"
    try:
        answer = _json_of(url, admin_url, timeout_s, json.dumps(request).encode())
    except _Unanswered as unanswered:
        if not request.get("execute"):
            raise
        doubt = "whether it was done is not known: look again before you repeat it"
        raise ClientFailed(f"{unanswered}; {doubt}") from unanswered
    if not isinstance(answer, dict):
        raise ClientFailed(f"{url} did not answer as a kproxy does: no object")
    return answer


def items_of(answer: Mapping[str, Any]) -> Sequence[Item]:
    """Return the items of an answer. Raises ClientFailed when there are none to speak of."""
    items = answer.get("items")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ClientFailed("the admin port did not answer as a kproxy does: no items")
    return items


def _token() -> str:
    """Return the token to show, empty for none. Raises UnusableToken."""
    file = TOKEN_FILE.get() or os.environ.get(TOKEN_FILE_VARIABLE)
    if not file:
        return ""
    try:
        with Path(file).open("rb") as opened:
            token = opened.read(_MOST_TOKEN_BYTES + 1).decode("ascii").strip()
    except OSError as error:
        raise UnusableToken(f"the file of the token, {file}, cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise UnusableToken(f"the file of the token, {file}, has more than ASCII characters in it") from None
    if not token or not token.isprintable():
        raise UnusableToken(f"the file of the token, {file}, has no line with a token in it")
    return token


def _checked(admin_url: str) -> str:
    parts = urlsplit(admin_url)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise WrongAddress(f"--admin-url {admin_url!r}: expected http://HOST:PORT")
    return admin_url.rstrip("/")


class _Unanswered(ClientFailed):
    """A request was sent, and no answer came, or a part of one."""


def _json_of(url: str, admin_url: str, timeout_s: float, body: bytes | None = None) -> object:
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import ProxyHandler, Request, build_opener

    # The admin port is next door: a proxy named in the environment has no business between.
    opener = build_opener(ProxyHandler({}))
    request, token = Request(url, data=body), _token()  # noqa: S310 - http or https: see _checked
    if body is not None:
        request.add_header("Content-Type", "application/json")
    if token:
        # It is for this server, and for none that this one may redirect to.
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    try:
        with opener.open(request, timeout=timeout_s) as response:
            return json.load(response)
    except HTTPError as error:
        with error:
            raise _refusal(url, admin_url, error) from error
    except OSError as error:
        reason = getattr(error, "reason", error)
        hint = "is kproxy running there, with kproxy.admin.listener on?"
        if body is not None and not isinstance(error, URLError):
            raise _Unanswered(f"{url} does not answer: {reason}") from error
        raise CannotConnect(f"cannot reach {url}: {reason}; {hint}") from error
    except HTTPException as error:
        broken_off = f"{url} broke its answer off: {error!r}"
        raise _Unanswered(broken_off) if body is not None else ClientFailed(broken_off) from error
    except ValueError as error:
        raise ClientFailed(f"{url} did not answer with JSON: is it kproxy's admin port?") from error


def _refusal(url: str, admin_url: str, error: "HTTPError") -> ClientFailed:
    """Return what becomes of an error status: kproxy's own words if they are there."""
    is_missing = error.code == HTTPStatus.NOT_FOUND
    try:
        message = json.load(error)["items"][0]["message"]
    except (ValueError, LookupError, TypeError):
        answered = f"{url} answered {error.code} {error.reason}"
        return _wrong_place(answered, admin_url) if is_missing else ClientFailed(answered)
    if error.code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return NotAllowed(str(message))
    return NotThere(str(message)) if is_missing else ClientFailed(str(message))


def _wrong_place(answered: str, admin_url: str) -> ClientFailed:
    """Return what to say where there is a server, and no such path: the path may be the fault of who asked."""
    parts = urlsplit(admin_url)
    server = f"{parts.scheme}://{parts.netloc}"
    beyond = admin_url.removeprefix(server).rstrip("/")
    if beyond:
        return WrongAddress(
            f"--admin-url {admin_url!r}: {answered}; kproxy's admin port has nothing under {beyond!r}: "
            f"give --admin-url {server}"
        )
    return ClientFailed(
        f"{answered}: that is not the admin port of a kproxy, or of one that knows this question; "
        "give --admin-url http://HOST:PORT with the kproxy.admin.listener of the kproxy to ask"
    )
