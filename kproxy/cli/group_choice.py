"""Which groups a command is about: as arguments, or with `-g` as in all commands."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import click

from kproxy.cli.known_names import group_names

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., object])


def with_groups(command: Callable[Concatenate[Sequence[str] | None, P], R]) -> Callable[P, R]:
    """Give `command` GROUP, `-g` and `--all-groups`, and call it with the groups first, each once; None for all."""

    @wraps(command)
    def with_options(*arguments: P.args, **options: P.kwargs) -> R:
        given = _given(options)
        if bool(given) == options.pop("all_groups"):
            raise click.UsageError("give one GROUP or more, or --all-groups")
        return command(given or None, *arguments, **options)

    argument = click.argument("group_ids", metavar="[GROUP]...", nargs=-1, shell_complete=group_names)
    all_groups = click.option("--all-groups", is_flag=True, help="Every share group.")
    return argument(_option("The same; may be repeated.")(all_groups(with_options)))


def with_group(command: Callable[Concatenate[str, P], R]) -> Callable[P, R]:
    """Give `command` GROUP and `-g`, and call it with the only group that is given first."""

    @wraps(command)
    def with_options(*arguments: P.args, **options: P.kwargs) -> R:
        given = _given(options)
        if len(given) != 1:
            raise click.UsageError("give one GROUP")
        return command(given[0], *arguments, **options)

    return click.argument("group_ids", metavar="GROUP", shell_complete=group_names, nargs=-1)(
        _option("The same.")(with_options)
    )


def _option(text: str) -> Callable[[F], F]:
    return click.option(
        "-g", "--group", "more_ids", metavar="GROUP", shell_complete=group_names, multiple=True, help=text
    )


def _given(options: dict[str, object]) -> list[str]:
    ids, more_ids = options.pop("group_ids"), options.pop("more_ids")
    assert isinstance(ids, tuple)
    assert isinstance(more_ids, tuple)
    return list(dict.fromkeys([*ids, *more_ids]))
