"""How commands say which kproxy they ask, and when its answer is not the whole truth."""

import os
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import click

from kproxy.cli.exit_codes import CommandFailed, ExitCode
from kproxy.clients.admin_port import TOKEN_FILE, TOKEN_FILE_VARIABLE

DEFAULT_ADMIN_URL: Final = "http://127.0.0.1:9644"
ADMIN_URL_VARIABLE: Final = "KPROXY_ADMIN_URL"
"""The environment's variable that stands for `--admin-url`. `kproxy run` passes over it."""

F = TypeVar("F", bound=Callable[..., object])


def _use_token_file(context: click.Context, _option: click.Parameter, file: str | None) -> None:
    if file is not None:
        former = TOKEN_FILE.set(file)
        context.call_on_close(lambda: TOKEN_FILE.reset(former))


with_token_file: Callable[[F], F] = click.option(
    "--admin-token-file",
    metavar="FILE",
    envvar=TOKEN_FILE_VARIABLE,
    show_envvar=True,
    expose_value=False,
    callback=_use_token_file,
    help="The token that the admin port wants (its kproxy.admin.token.file).",
)

_admin_url_option: Callable[[F], F] = click.option(
    "--admin-url",
    metavar="URL",
    default=DEFAULT_ADMIN_URL,
    show_default=True,
    envvar=ADMIN_URL_VARIABLE,
    show_envvar=True,
    help="The admin port of the running kproxy.",
)


def with_admin_url(command: F) -> F:
    """Give `command` the options that say which admin port to ask; it is called with `admin_url`."""
    return _admin_url_option(with_token_file(command))


def default_admin_url() -> str:
    """Return the URL that stands where none is given: that of the environment, or the port that kproxy opens."""
    return os.environ.get(ADMIN_URL_VARIABLE) or DEFAULT_ADMIN_URL


def require_whole(answer: Mapping[str, object]) -> None:
    """Complain, once an answer was shown, if it may not be the truth or not all of it.

    Raises:
        CommandFailed: FAILED; the text says why.
    """
    reason = answer.get("unavailable")
    if reason:
        raise CommandFailed(f"not the whole truth: {reason}", ExitCode.FAILED)
