"""`kproxy groups`: the share groups of a running kproxy."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final

import click

from kproxy.cli.admin_port import require_whole, with_admin_url
from kproxy.cli.ages import age_text
from kproxy.cli.described_groups import described_groups
from kproxy.cli.output import Column, Output, partitions_text, with_output
from kproxy.clients.admin_port import Item, answer_of, items_of
from kproxy.wording import counted

_REASONS_SHOWN: Final = 10
_LIST_TIMEOUT_S: Final = 10.0
"""A look at all groups takes four and a half seconds where brokers do not answer."""

_LIST = (
    Column("GROUP", "groupId"),
    Column("STATE", "state"),
    Column("LAG", lambda group: _at_least(group["lag"], is_exact=group["lagExact"])),
    Column("OLDEST-AGE", lambda group: age_text(group["oldestAgeMs"], is_exact=group["oldestAgeExact"])),
    Column("GROUP-EPOCH", "groupEpoch", is_wide=True),
    Column("ASSIGNMENT-EPOCH", "assignmentEpoch", is_wide=True),
    Column("#MEMBERS", "memberCount", is_wide=True),
)
_OFFSETS = (
    Column("GROUP", "groupId"),
    Column("TOPIC", lambda window: window["topicName"] or window["topicId"]),
    Column("PARTITION", "partition"),
    Column("START-OFFSET", "startOffset"),
    Column("LAG", "lag"),
    Column("LOG-END-OFFSET", "logEndOffset"),
    Column("OLDEST-AGE", lambda window: age_text(window["oldestAgeMs"], is_exact=window["oldestAgeExact"])),
    Column("LIVE", "live", is_wide=True),
    Column("WINDOW-END", "endOffset", is_wide=True),
    Column("IN-FLIGHT", "inFlightCount", is_wide=True),
    Column("COMPLETE", "deliveryCompleteCount", is_wide=True),
)
_MEMBERS = (
    Column("GROUP", "groupId"),
    Column("CONSUMER-ID", "memberId"),
    Column("HOST", "clientHost"),
    Column("CLIENT-ID", "clientId"),
    Column("#PARTITIONS", lambda member: sum(len(topic["partitions"]) for topic in member["assignment"])),
    Column("MEMBER-EPOCH", "memberEpoch", is_wide=True),
    Column("ASSIGNMENT", lambda member: partitions_text(member["assignment"])),
)
_STATE = (
    Column("GROUP", "groupId"),
    # The coordinator is kproxy itself, behind whichever of its ports a client found.
    Column("COORDINATOR (ID)", lambda _: None),
    Column("STATE", "state"),
    Column("GROUP-EPOCH", "groupEpoch", is_wide=True),
    Column("ASSIGNMENT-EPOCH", "assignmentEpoch", is_wide=True),
    Column("#MEMBERS", "memberCount"),
)


@click.group()
def groups() -> None:
    """Show the share groups of a running kproxy."""


@groups.command(
    "list",
    epilog="""Examples:

\b
  kproxy groups list -o wide
  kproxy groups list -o json | jq -r '.items[] | select((.oldestAgeMs // 0) > 600000) | .groupId'
""",
)
@with_admin_url
@with_output
def list_(admin_url: str, output: str, *, no_headers: bool) -> None:
    """List every share group with its state, and how far behind it is.

    LAG and OLDEST-AGE are those of kproxy groups describe, over all share-partitions of the group: how many records it
    has not finished, up to the ends of the logs, and how long ago the first of them was written. >12 is at least 12,
    because of some share-partitions it is not known; then why stands on standard error.
    """
    answer = answer_of(admin_url, "groups", query={"lag": "true"}, timeout_s=_LIST_TIMEOUT_S)
    found = items_of(answer)
    Output(output, not no_headers).show(answer, found, _LIST)
    _say_why((group["groupId"], group["reason"]) for group in found)
    require_whole(answer)


@groups.command(
    epilog="""Examples:

\b
  kproxy groups describe orders-workers
  kproxy groups describe -g orders-workers -g auditors --members
  kproxy groups describe --all-groups --state

The exit code is 3 when there is no such group; of several, the others are shown.
"""
)
@click.argument("group_ids", metavar="[GROUP]...", nargs=-1)
@click.option("-g", "--group", "more_ids", metavar="GROUP", multiple=True, help="The same; may be repeated.")
@click.option("--all-groups", is_flag=True, help="Every share group.")
@click.option("--offsets", "aspect", flag_value="offsets", default=True, help="Share-partitions (default).")
@click.option("--members", "aspect", flag_value="members", help="Members and what they are assigned.")
@click.option("--state", "aspect", flag_value="state", help="State, epochs and number of members.")
@with_admin_url
@with_output
def describe(aspect: str, admin_url: str, output: str, *, no_headers: bool, **chosen: Any) -> None:
    """Describe share groups.

    The columns are those of kafka-share-groups.sh, then ours. LAG counts from START-OFFSET to LOG-END-OFFSET, without
    what is done with in between (KIP-1226). OLDEST-AGE is how long ago the first record was written that is not done
    with, by its timestamp; >5m00s is at least that. A group that nobody fetches from is shown as the state log has it
    (LIVE no). With -o wide, WINDOW-END is the last offset in flight. What is not known is -, and why stands on standard
    error.
    """
    described = described_groups(admin_url, _wanted(**chosen), has_lag=aspect == "offsets")
    found = items_of(described.answer)
    columns = {"offsets": _OFFSETS, "members": _MEMBERS, "state": _STATE}[aspect]
    rows = [row for group in found for row in _rows(group, aspect)]
    if aspect == "members":
        for group in found:
            if not group["members"]:
                click.echo(f"Share group {group['groupId']!r} has no active members.", err=True)
    Output(output, not no_headers).show(described.answer, rows, columns)
    if aspect == "offsets":
        _say_why((_place(row, is_alone=len(found) == 1), row["reason"]) for row in rows)
    described.complain()
    require_whole(described.answer)


def _wanted(*, group_ids: Sequence[str], more_ids: Sequence[str], all_groups: bool) -> Sequence[str] | None:
    """Return the groups to describe, each once; None for all."""
    given = dict.fromkeys([*group_ids, *more_ids])
    if bool(given) == all_groups:
        raise click.UsageError("give one GROUP or more, or --all-groups")
    return None if all_groups else list(given)


def _place(window: Item, *, is_alone: bool) -> str:
    place = f"{window['topicName'] or window['topicId']}-{window['partition']}"
    return place if is_alone else f"{window['groupId']}: {place}"


def _say_why(reasons: Iterable[tuple[str, str]]) -> None:
    """Print what there is to say of places, those together of which it is the same."""
    places: dict[str, list[str]] = {}
    for place, reason in reasons:
        if reason:
            places.setdefault(reason, []).append(place)
    for reason, of_reason in islice(places.items(), _REASONS_SHOWN):
        more = f" and {len(of_reason) - 1} more" if len(of_reason) > 1 else ""
        click.echo(f"{of_reason[0]}{more}: {reason}", err=True)
    if len(places) > _REASONS_SHOWN:
        click.echo(f"{counted(len(places) - _REASONS_SHOWN, 'more reason')} in -o json", err=True)


def _at_least(number: int | None, *, is_exact: bool) -> str | None:
    """Return a number, with `>` before it if it is a lower bound."""
    return None if number is None else ("" if is_exact else ">") + str(number)


def _rows(group: Item, aspect: str) -> list[Item]:
    match aspect:
        case "state":
            return [group]
        case "members":
            listed = group["members"]
        case _:
            listed = group["sharePartitions"]
    return [{**entry, "groupId": group["groupId"]} for entry in listed]
