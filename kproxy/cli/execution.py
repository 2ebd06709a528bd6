"""How a command that changes something is told to do it, and how it ends when it did a part of it."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Final, ParamSpec, TypeVar

import click

from kproxy.cli.exit_codes import CommandFailed, ExitCode
from kproxy.clients.failures import ClientFailed
from kproxy.wording import counted

P = ParamSpec("P")
R = TypeVar("R")

_DRY_RUN: Final = "dry run: nothing was changed; --execute does it"


def with_execution(command: Callable[P, R]) -> Callable[P, R]:
    """Give `command` the options `--dry-run`, the default, and `--execute`; it is called with `is_executed`."""

    @wraps(command)
    def with_options(*arguments: P.args, **options: P.kwargs) -> R:
        is_dry_run = options.pop("dry_run")
        if is_dry_run and options["is_executed"]:
            raise click.UsageError("give --dry-run or --execute, not both")
        return command(*arguments, **options)

    dry_run = click.option("--dry-run", is_flag=True, help="Only show what would be done (default).")
    execute = click.option("--execute", "is_executed", is_flag=True, help="Do it.")
    return dry_run(execute(with_options))


def status_text(failure: ClientFailed | None, *, is_executed: bool) -> str:
    """Return what the column STATUS shows of one of several things, with the words of kafka-share-groups."""
    if failure is not None:
        return f"Error: {failure}"
    return "Successful" if is_executed else "To be deleted"


def end(outcomes: Mapping[str, ClientFailed | None], noun: str, *, is_executed: bool) -> None:
    """Say that it was a dry run if it was one, and fail if some of several things came to a failure, which are shown.

    Raises:
        CommandFailed: PARTIAL_FAILURE when others succeed; else what all failures have in common, FAILED if nothing.
    """
    if not is_executed:
        click.echo(_DRY_RUN, err=True)
    failures = [failure for failure in outcomes.values() if failure is not None]
    if not failures:
        return
    exit_codes = {failure.exit_code for failure in failures}
    common = exit_codes.pop() if len(exit_codes) == 1 else ExitCode.FAILED
    is_partial = len(failures) < len(outcomes)
    done = "could not be changed" if is_executed else "cannot be changed"
    text = f"{counted(len(failures), noun)} of {len(outcomes)} {done}"
    raise CommandFailed(text, ExitCode.PARTIAL_FAILURE if is_partial else common)
