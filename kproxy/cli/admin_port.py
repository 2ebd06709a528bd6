"""How commands say which kproxy they ask, and when its answer is not the whole truth."""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import click

from kproxy.cli.exit_codes import CommandFailed, ExitCode

DEFAULT_ADMIN_URL: Final = "http://127.0.0.1:9644"

F = TypeVar("F", bound=Callable[..., object])

with_admin_url: Callable[[F], F] = click.option(
    "--admin-url",
    metavar="URL",
    default=DEFAULT_ADMIN_URL,
    show_default=True,
    help="The admin port of the running kproxy.",
)


def require_whole(answer: Mapping[str, object]) -> None:
    """Complain, once an answer was shown, if it may not be the truth or not all of it.

    Raises:
        CommandFailed: FAILED; the text says why.
    """
    reason = answer.get("unavailable")
    if reason:
        raise CommandFailed(f"not the whole truth: {reason}", ExitCode.FAILED)
