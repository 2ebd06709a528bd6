"""`kproxy groups`: the share groups of a running kproxy."""

from collections.abc import Sequence
from itertools import islice
from typing import Final

import click

from kproxy.cli.admin_port import require_whole, with_admin_url
from kproxy.cli.ages import age_text
from kproxy.cli.output import Column, Output, partitions_text, with_output
from kproxy.clients.admin_port import Item, answer_of, items_of
from kproxy.wording import counted

_REASONS_SHOWN: Final = 10

_LIST = (
    Column("GROUP", "groupId"),
    Column("STATE", "state"),
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
  kproxy groups list -o json | jq -r '.items[] | select(.state == "Empty") | .groupId'
""",
)
@with_admin_url
@with_output
def list_(admin_url: str, output: str, *, no_headers: bool) -> None:
    """List every share group with its state."""
    answer = answer_of(admin_url, "groups")
    Output(output, not no_headers).show(answer, items_of(answer), _LIST)
    require_whole(answer)


@groups.command(
    epilog="""Examples:

\b
  kproxy groups describe orders-workers
  kproxy groups describe orders-workers --members

The exit code is 3 when there is no such group.
"""
)
@click.argument("group")
@click.option("--offsets", "aspect", flag_value="offsets", default=True, help="Share-partitions (default).")
@click.option("--members", "aspect", flag_value="members", help="Members and what they are assigned.")
@click.option("--state", "aspect", flag_value="state", help="State, epochs and number of members.")
@with_admin_url
@with_output
def describe(group: str, aspect: str, admin_url: str, output: str, *, no_headers: bool) -> None:
    """Describe a share group.

    The columns are those of kafka-share-groups.sh, then ours. LAG counts from START-OFFSET to LOG-END-OFFSET, without
    what is done with in between (KIP-1226). OLDEST-AGE is how long ago the first record was written that is not done
    with, by its timestamp; >5m00s is at least that. A group that nobody fetches from is shown as the state log has it
    (LIVE no). With -o wide, WINDOW-END is the last offset in flight. What is not known is -, and why stands on standard
    error.
    """
    has_lag = "true" if aspect == "offsets" else "false"
    answer = answer_of(admin_url, "groups", group, query={"lag": has_lag})
    found = items_of(answer)[0]
    columns = {"offsets": _OFFSETS, "members": _MEMBERS, "state": _STATE}[aspect]
    if aspect == "members" and not found["members"]:
        click.echo(f"Share group {group!r} has no active members.", err=True)
    Output(output, not no_headers).show(answer, _rows(found, aspect), columns)
    if aspect == "offsets":
        _say_why(_rows(found, aspect))
    require_whole(answer)


def _say_why(windows: Sequence[Item]) -> None:
    """Print what there is to say of share-partitions, those of which it is the same together."""
    places: dict[str, list[str]] = {}
    for window in windows:
        if window["reason"]:
            place = f"{window['topicName'] or window['topicId']}-{window['partition']}"
            places.setdefault(window["reason"], []).append(place)
    for reason, of_reason in islice(places.items(), _REASONS_SHOWN):
        more = f" and {len(of_reason) - 1} more" if len(of_reason) > 1 else ""
        click.echo(f"{of_reason[0]}{more}: {reason}", err=True)
    if len(places) > _REASONS_SHOWN:
        click.echo(f"{counted(len(places) - _REASONS_SHOWN, 'more reason')} in -o json", err=True)


def _rows(group: Item, aspect: str) -> list[Item]:
    match aspect:
        case "state":
            return [group]
        case "members":
            listed = group["members"]
        case _:
            listed = group["sharePartitions"]
    return [{**entry, "groupId": group["groupId"]} for entry in listed]
