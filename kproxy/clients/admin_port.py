"""Asking a running kproxy on its admin port."""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import click

from kproxy.cli.exit_codes import CommandFailed, ExitCode

if TYPE_CHECKING:
    from urllib.error import HTTPError

DEFAULT_ADMIN_URL: Final = "http://127.0.0.1:9644"
_TIMEOUT_S: Final = 5.0

F = TypeVar("F", bound=Callable[..., object])

with_admin_url: Callable[[F], F] = click.option(
    "--admin-url",
    metavar="URL",
    default=DEFAULT_ADMIN_URL,
    show_default=True,
    help="The admin port of the running kproxy.",
)


def answer_of(
    admin_url: str, *path: str, query: Mapping[str, str | int | None] | None = None
) -> Mapping[str, object]:
    """Return what `/api/v1/` and `path`, whose parts may hold any character, answer. None is not asked for.

    Raises:
        CommandFailed: NOT_FOUND for what kproxy does not know, CANNOT_CONNECT when nobody answers, else FAILED.
    """
    asked = urlencode({name: value for name, value in (query or {}).items() if value is not None})
    places = "/".join(quote(part, safe="") for part in ("api", "v1", *path))
    url = f"{_checked(admin_url)}/{places}" + (f"?{asked}" if asked else "")
    answer = _json_of(url)
    if not isinstance(answer, dict):
        raise CommandFailed(f"{url} did not answer as a kproxy does: no object", ExitCode.FAILED)
    return answer


def items_of(answer: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Return the items of an answer. Raises CommandFailed when there are none to speak of."""
    items = answer.get("items")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise CommandFailed("the admin port did not answer as a kproxy does: no items", ExitCode.FAILED)
    return items


def require_whole(answer: Mapping[str, object]) -> None:
    """Complain, once an answer was shown, if it may not be the truth or not all of it.

    Raises:
        CommandFailed: FAILED, because share groups are unavailable; the text says why.
    """
    reason = answer.get("unavailable")
    if reason:
        raise CommandFailed(f"not the whole truth: share groups are unavailable: {reason}", ExitCode.FAILED)


def _checked(admin_url: str) -> str:
    parts = urlsplit(admin_url)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise click.BadParameter(f"{admin_url!r}: expected http://HOST:PORT", param_hint="--admin-url")
    return admin_url.rstrip("/")


def _json_of(url: str) -> object:
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import ProxyHandler, build_opener

    # The admin port is next door: a proxy named in the environment has no business between.
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(url, timeout=_TIMEOUT_S) as response:
            return json.load(response)
    except HTTPError as error:
        with error:
            raise _refusal(url, error) from error
    except OSError as error:
        reason = getattr(error, "reason", error)
        hint = "is kproxy running there, with kproxy.admin.listener on?"
        raise CommandFailed(f"cannot reach {url}: {reason}; {hint}", ExitCode.CANNOT_CONNECT) from error
    except HTTPException as error:
        raise CommandFailed(f"{url} broke its answer off: {error!r}", ExitCode.FAILED) from error
    except ValueError as error:
        raise CommandFailed(
            f"{url} did not answer with JSON: is it kproxy's admin port?", ExitCode.FAILED
        ) from error


def _refusal(url: str, error: "HTTPError") -> CommandFailed:
    """Return what becomes of an error status: kproxy's own words if they are there."""
    try:
        message = json.load(error)["items"][0]["message"]
    except (ValueError, LookupError, TypeError):
        return CommandFailed(f"{url} answered {error.code} {error.reason}", ExitCode.FAILED)
    is_missing = error.code == 404
    return CommandFailed(str(message), ExitCode.NOT_FOUND if is_missing else ExitCode.FAILED)
