"""`kproxy in-flight release`, `accept` and `archive`: what an operator does with records, whoever holds them."""

import re
from collections.abc import Callable, Sequence
from typing import Final

import click

from kproxy.cli.admin_port import with_admin_url
from kproxy.cli.in_flight_place import one_share_partition, runs_of
from kproxy.cli.known_names import member_names
from kproxy.cli.operator_requests import request, show, with_reason
from kproxy.cli.output import Column, Output, with_output
from kproxy.clients.admin_port import Item, items_of
from kproxy.wording import counted

MOST_RANGES: Final = 100
_RANGE: Final = re.compile(r"(\d{1,19})(?:-(\d{1,19}))?")
_LARGEST: Final = 2**63 - 1

_COLUMNS: Final = (
    Column("GROUP", "groupId"),
    Column("TOPIC", lambda run: run["topicName"] or run["topicId"]),
    Column("PARTITION", "partition"),
    Column("FIRST-OFFSET", "firstOffset"),
    Column("LAST-OFFSET", "lastOffset"),
    Column("DELIVERIES", "deliveryCount"),
    Column("BEFORE", "stateBefore"),
    Column("AFTER", "stateAfter"),
    Column("CONSUMER-ID", "memberId"),
    Column("CLIENT-ID", "clientId"),
)
_EXAMPLES: Final = """Examples:

\b
  kproxy in-flight {name} -g orders-workers -t orders -p 0 4711
  kproxy in-flight {name} -g orders-workers -t orders -p 0 4711-4720 4730 --execute --reason "ticket 4711"

All offsets are changed, or none. It is answered when that is durable; whoever held a record, and acknowledges it
afterwards, is told INVALID_RECORD_STATE, as when its lock ran out. kproxy log audit shows it with the event operator.
The exit code is 3 when there is no such group, topic or partition, or nothing of it is in flight.
"""


_MEMBER: Final = click.option(
    "-m",
    "--member",
    metavar="MEMBER",
    shell_complete=member_names,
    help="Only while this member holds all of them: nothing is taken from who has them by now.",
)


class OffsetRange(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.4
    """An offset, or FIRST-LAST, both inclusive."""

    name = "OFFSET[-LAST]"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """Return first and last offset. Fails as click's own types do."""
        if isinstance(value, tuple):
            return value
        found = _RANGE.fullmatch(str(value))
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if not first <= last <= _LARGEST:
            self.fail(f"{value!r}: expected an offset, or a range such as 4711-4720", param, ctx)
        return first, last


def _action(name: str, purpose: str, detail: str) -> click.Command:
    """Return one of the commands; they differ in what becomes of a record."""

    def command(  # noqa: PLR0913 - one for each option
        *,
        group: str,
        topic: str,
        partition: int,
        offsets: Sequence[tuple[int, int]],
        member: str | None,
        admin_url: str,
        is_executed: bool,
        reason: str | None,
        output: str,
        no_headers: bool,
    ) -> None:
        if len(offsets) > MOST_RANGES:
            ranges = counted(len(offsets), "range")
            raise click.UsageError(f"{ranges} of offsets: {MOST_RANGES} are taken at a time")
        fields = {
            "action": name,
            "group": group,
            "topic": topic,
            "partition": partition,
            "offsets": [list(span) for span in sorted(offsets)],
            "member": member,
        }
        answer = request(admin_url, fields, is_executed=is_executed, reason=reason)
        show(answer, _COLUMNS, Output(output, not no_headers), is_executed=is_executed, done="done, durably")
        if not is_executed:
            _warn_of_last_attempts(admin_url, items_of(answer))

    command.__doc__ = f"{purpose}\n\n{detail} Without --execute it is only shown what would change."
    decorators: Sequence[Callable[..., Callable[..., object]]] = (
        with_output,
        with_reason,
        with_admin_url,
        _MEMBER,
        click.argument("offsets", nargs=-1, required=True, type=OffsetRange(), metavar="OFFSET[-LAST]..."),
        one_share_partition,
    )
    decorated: Callable[..., object] = command
    for decorator in decorators:
        decorated = decorator(decorated)
    return click.command(name, epilog=_EXAMPLES.format(name=name))(decorated)


def _warn_of_last_attempts(admin_url: str, released: Sequence[Item]) -> None:
    """Say on standard error which records would have one attempt left, or none."""
    available = [run for run in released if run["stateAfter"] == "Available"]
    if not available:
        return
    first = available[0]
    _, runs = runs_of(None, admin_url, first["groupId"], first["topicId"], first["partition"])
    limit = min((run["deliveryCountLimit"] for run in runs), default=0)
    last = [run for run in available if run["deliveryCount"] + 1 >= limit > 0]
    if last:
        number = sum(run["lastOffset"] + 1 - run["firstOffset"] for run in last)
        click.echo(
            f"Warning: the next attempt would be the last one, {limit} of {limit}, of {counted(number, 'record')}, "
            f"offset {last[0]['firstOffset']} first: archived after it unless accepted",
            err=True,
        )


release: Final = _action(
    "release",
    "Take records from the members that hold them: they are delivered again.",
    "The attempt counts: at the delivery limit a record is archived instead.",
)
accept: Final = _action(
    "accept",
    "Count records that members hold as processed.",
    "They are done with, as if those had accepted them.",
)
archive: Final = _action(
    "archive",
    "Take records out of delivery, held or not.",
    "They are done with, and nobody gets them again; they stay in their topic.",
)
