"""Asking a running kproxy on its admin port."""

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode, urlsplit

from kproxy.clients.failures import CannotConnect, ClientFailed, NotThere, WrongAddress

if TYPE_CHECKING:
    from urllib.error import HTTPError

_TIMEOUT_S: Final = 5.0

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
        NotThere: kproxy does not know what was asked for.
        ClientFailed: it refused, or somebody else answered.
    """
    asked = urlencode({name: value for name, value in (query or {}).items() if value is not None})
    places = "/".join(quote(part, safe="") for part in ("api", "v1", *path))
    url = f"{_checked(admin_url)}/{places}" + (f"?{asked}" if asked else "")
    answer = _json_of(url, admin_url, timeout_s)
    if not isinstance(answer, dict):
        raise ClientFailed(f"{url} did not answer as a kproxy does: no object")
    return answer


def items_of(answer: Mapping[str, Any]) -> Sequence[Item]:
    """Return the items of an answer. Raises ClientFailed when there are none to speak of."""
    items = answer.get("items")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ClientFailed("the admin port did not answer as a kproxy does: no items")
    return items


def _checked(admin_url: str) -> str:
    parts = urlsplit(admin_url)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise WrongAddress(f"--admin-url {admin_url!r}: expected http://HOST:PORT")
    return admin_url.rstrip("/")


def _json_of(url: str, admin_url: str, timeout_s: float) -> object:
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import ProxyHandler, build_opener

    # The admin port is next door: a proxy named in the environment has no business between.
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(url, timeout=timeout_s) as response:
            return json.load(response)
    except HTTPError as error:
        with error:
            raise _refusal(url, admin_url, error) from error
    except OSError as error:
        reason = getattr(error, "reason", error)
        hint = "is kproxy running there, with kproxy.admin.listener on?"
        raise CannotConnect(f"cannot reach {url}: {reason}; {hint}") from error
    except HTTPException as error:
        raise ClientFailed(f"{url} broke its answer off: {error!r}") from error
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
