"""`kproxy groups`: the share groups of a running kproxy."""

import click

from kproxy.cli.admin_port import answer_of, items_of, with_admin_url
from kproxy.cli.output import Column, Item, Output, partitions_text, with_output

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
    # How far behind a share-partition is takes the log end offset, which the admin port does not know.
    Column("LAG", lambda _: None),
    Column("END-OFFSET", "endOffset", is_wide=True),
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


@groups.command(
    epilog="""Examples:

\b
  kproxy groups describe orders-workers
  kproxy groups describe orders-workers --members

The exit code is 3 when there is no such group.
"""
)
@click.argument("group")
@click.option(
    "--offsets", "aspect", flag_value="offsets", default=True, help="Live share-partitions (default)."
)
@click.option("--members", "aspect", flag_value="members", help="Members and what they are assigned.")
@click.option("--state", "aspect", flag_value="state", help="State, epochs and number of members.")
@with_admin_url
@with_output
def describe(group: str, aspect: str, admin_url: str, output: str, *, no_headers: bool) -> None:
    """Describe a share group.

    The columns are those of kafka-share-groups.sh; LAG is left to that tool. Only share-partitions that somebody
    fetches from are live.
    """
    answer = answer_of(admin_url, "groups", group)
    found = items_of(answer)[0]
    columns = {"offsets": _OFFSETS, "members": _MEMBERS, "state": _STATE}[aspect]
    if aspect == "members" and not found["members"]:
        click.echo(f"Share group {group!r} has no active members.", err=True)
    Output(output, not no_headers).show(answer, _rows(found, aspect), columns)


def _rows(group: Item, aspect: str) -> list[Item]:
    match aspect:
        case "state":
            return [group]
        case "members":
            listed = group["members"]
        case _:
            listed = group["sharePartitions"]
    return [{**entry, "groupId": group["groupId"]} for entry in listed]
