"""The one share-partition that `kproxy in-flight show` and `window` look at."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

import click

from kproxy.cli.backing_cluster import BackingCluster
from kproxy.cli.known_names import group_names, topic_names
from kproxy.cli.log_source import NOT_DURABLE
from kproxy.clients.admin_port import Item, answer_of, items_of

F = TypeVar("F", bound=Callable[..., object])
P = ParamSpec("P")
R = TypeVar("R")

NOT_LIVE: Final = "not in memory (kproxy why says why), this is what the state log has"


def one_share_partition(command: F) -> F:
    """Give `command` the options that name one share-partition; it is called with group, topic and partition."""
    group = click.option(
        "-g", "--group", required=True, metavar="GROUP", shell_complete=group_names, help="The share group."
    )
    topic = click.option(
        "-t",
        "--topic",
        required=True,
        metavar="TOPIC",
        shell_complete=topic_names,
        help="The topic: its name, or its id.",
    )
    partition = click.option(
        "-p",
        "--partition",
        required=True,
        metavar="NUMBER",
        type=click.IntRange(0, 2**31 - 1),
        help="The partition of the consumed topic: its number, counted from 0, as in -p 3.",
    )
    return group(topic(partition(command)))


def with_offset(command: Callable[P, R]) -> Callable[P, R]:
    """Give `command` one offset, as an argument or as `--offset`; None where neither is said."""

    @wraps(command)
    def with_options(*arguments: P.args, **options: P.kwargs) -> R:
        argument = options.pop("offset_argument")
        if argument is not None and options["offset"] not in {None, argument}:
            raise click.UsageError(f"{argument} and --offset {options['offset']}: which of both?")
        if argument is not None:
            options["offset"] = argument
        return command(*arguments, **options)

    kind = click.IntRange(0, 2**63 - 1)
    option = click.option("--offset", metavar="OFFSET", type=kind, help="The offset of a record.")
    return click.argument("offset_argument", metavar="[OFFSET]", required=False, type=kind)(
        option(with_options)
    )


def runs_of(
    log: BackingCluster | None, admin_url: str, group: str, topic: str, partition: int
) -> tuple[Mapping[str, Any], Sequence[Item]]:
    """Return the answer, of the state log if there is one, and its runs in flight by rising offset.

    Raises NotThere, CommandFailed and ClientFailed.
    """
    if log is not None:
        from kproxy.cli.durable_groups import durable_in_flight

        answer = durable_in_flight(log, group=group, topic=topic, partition=partition)
    else:
        query: dict[str, str | int | None] = {"group": group, "topic": topic, "partition": partition}
        answer = answer_of(admin_url, "in-flight", query=query)
    return answer, items_of(answer)


def is_live(runs: Sequence[Item]) -> bool:
    """Tell whether somebody fetches from the share-partition of `runs`, as far as the answer says."""
    return all(run.get("live", True) for run in runs)


def say_source(log: BackingCluster | None) -> None:
    """Say on standard error what an answer of the state log cannot tell."""
    if log is not None:
        click.echo(NOT_DURABLE, err=True)
