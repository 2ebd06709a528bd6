"""Requests of an operator to a running kproxy: how they are sent, and what is said of them."""

import getpass
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

import click

from kproxy.cli.execution import with_execution
from kproxy.cli.exit_codes import CommandFailed
from kproxy.cli.output import Column, Output
from kproxy.clients.admin_port import acted, answer_of, items_of
from kproxy.clients.failures import ClientFailed, NotThere
from kproxy.clients.nearest_names import nearest_names

P = ParamSpec("P")
R = TypeVar("R")

_DRY_RUN: Final = "dry run: nothing was changed; --execute --reason TEXT does it"


def with_reason(command: Callable[P, R]) -> Callable[P, R]:
    """Give `command` `--dry-run`, `--execute` and `--reason`; it is called with `is_executed` and `reason`.

    Raises UsageError for an execution without a reason.
    """

    @wraps(command)
    def with_options(*arguments: P.args, **options: P.kwargs) -> R:
        reason = options["reason"]
        if options["is_executed"] and not str(reason or "").strip():
            raise click.UsageError("--execute needs --reason TEXT: it is kept in the state log")
        return command(*arguments, **options)

    reason = click.option(
        "--reason", metavar="TEXT", help="Why; kept in the state log, and shown by kproxy log audit."
    )
    return with_execution(reason(with_options))


def request(
    admin_url: str, fields: Mapping[str, Any], *, is_executed: bool, reason: str | None
) -> Mapping[str, Any]:
    """Ask for it and return the answer. Raises ClientFailed; what is not there is told with the nearest names."""
    asked = {name: value for name, value in fields.items() if value is not None}
    said = {} if not reason else {"reason": reason}
    try:
        return acted(admin_url, {**asked, **said, "execute": is_executed, "operator": _user()})
    except NotThere as missing:
        raise CommandFailed(f"{missing}{_near(admin_url, asked)}", missing.exit_code) from missing


def show(
    answer: Mapping[str, Any], columns: Sequence[Column], output: Output, *, is_executed: bool, done: str
) -> None:
    """Print what has changed, or would."""
    output.show(answer, items_of(answer), columns)
    click.echo(done if is_executed else _DRY_RUN, err=True)


def _near(admin_url: str, asked: Mapping[str, Any]) -> str:
    """Return the end of a message: the names nearest to those that were asked for, of what is not there."""
    try:
        sessions = items_of(answer_of(admin_url, "sessions"))
        listed = items_of(answer_of(admin_url, "groups", query={"lag": "false"}))
        groups = {str(each["groupId"]) for each in (*listed, *sessions)}
        if asked["group"] not in groups:
            return f"; {nearest_names(asked['group'], groups)}"
        members = {str(each["memberId"]) for each in sessions if each["groupId"] == asked["group"]}
        is_known = asked.get("member") in {None, *members}
        return "" if is_known else f"; {nearest_names(asked['member'], members)}"
    except ClientFailed:
        return ""


def _user() -> str:
    try:
        return getpass.getuser()[:64]
    except (OSError, KeyError):
        return "unknown"
