"""`kproxy groups`: the share groups of a running kproxy, or of any cluster."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

import click

from kproxy.cli.admin_port import require_whole
from kproxy.cli.ages import age_text
from kproxy.cli.cluster_groups import groups_of_cluster, listed_groups
from kproxy.cli.described_groups import described_groups
from kproxy.cli.group_choice import with_groups
from kproxy.cli.group_configs import configs
from kproxy.cli.group_deletions import delete, delete_offsets
from kproxy.cli.group_resets import reset_offsets
from kproxy.cli.group_source import AdminPort, Cluster, with_source
from kproxy.cli.output import Column, Output, partitions_text, with_output
from kproxy.cli.watch import with_watch
from kproxy.clients.admin_port import Item, answer_of, items_of
from kproxy.clients.tables import printable
from kproxy.wording import counted

_REASONS_SHOWN: Final = 10
_LIST_TIMEOUT_S: Final = 10.0
"""A look at all groups takes four and a half seconds where brokers do not answer."""


def _coordinator(group: Item) -> str | None:
    """Return the broker that coordinates a group as Kafka's tools write it; None as the admin port tells it."""
    broker = group.get("coordinator")
    return broker and f"{broker['host']}:{broker['port']} ({broker['nodeId']})"


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
    Column("SLOT", "slot", is_wide=True),
)
_LIST_OF_CLUSTER = (
    Column("GROUP", "groupId"),
    Column("STATE", "state"),
    Column("COORDINATOR (ID)", _coordinator, is_wide=True),
)
_OFFSETS_OF_CLUSTER = (
    Column("GROUP", "groupId"),
    Column("TOPIC", "topicName"),
    Column("PARTITION", "partition"),
    Column("LEADER-EPOCH", "leaderEpoch", is_wide=True),
    Column("START-OFFSET", "startOffset"),
    Column("LAG", "lag"),
)
_MEMBERS_OF_CLUSTER = (
    Column("GROUP", "groupId"),
    Column("CONSUMER-ID", "memberId"),
    Column("HOST", "clientHost"),
    Column("CLIENT-ID", "clientId"),
    Column("#PARTITIONS", lambda member: sum(len(topic["partitions"]) for topic in member["assignment"])),
    Column("MEMBER-EPOCH", "memberEpoch", is_wide=True),
    Column("ASSIGNMENT", lambda member: partitions_text(member["assignment"])),
)
_MEMBERS = (
    *_MEMBERS_OF_CLUSTER,
    Column("HEARTBEAT-AGE", lambda member: age_text(member["lastHeartbeatAgeMs"])),
)
_STATE_OF_CLUSTER = (
    Column("GROUP", "groupId"),
    # To the admin port the coordinator is kproxy itself, behind whichever of its ports a client found.
    Column("COORDINATOR (ID)", _coordinator),
    Column("STATE", "state"),
    Column("GROUP-EPOCH", "groupEpoch", is_wide=True),
    Column("ASSIGNMENT-EPOCH", "assignmentEpoch", is_wide=True),
    Column("#MEMBERS", "memberCount"),
)
_STATE = (*_STATE_OF_CLUSTER, Column("SLOT", "slot", is_wide=True))


@click.group()
def groups() -> None:
    """Show and change share groups: of a running kproxy, or of any cluster.

    Without -b the admin port of a running kproxy is asked (--admin-url), which knows more than Kafka's protocol tells:
    how far behind all groups are, OLDEST-AGE, what is in flight. With -b any cluster with share groups is asked over
    the wire: kproxy, or Kafka from 4.2 on; the columns are those of kafka-share-groups.sh. Configurations and changes
    go over the wire only, and nothing is changed without --execute.
    """


@groups.command(
    "list",
    epilog="""Examples:

\b
  kproxy groups list -o wide
  kproxy groups list -b localhost:9092 --state Empty
  kproxy groups list -o json | jq -r '.items[] | select((.oldestAgeMs // 0) > 600000) | .groupId'
""",
)
@click.option(
    "--state",
    "states",
    type=click.Choice(["Empty", "Stable", "Dead"], case_sensitive=False),
    multiple=True,
    help="Of groups in this state only; may be repeated.",
)
@with_watch
@with_source
@with_output
def list_(source: AdminPort | Cluster, /, states: Sequence[str], output: str, *, no_headers: bool) -> None:
    """List every share group with its state, and how far behind it is.

    LAG and OLDEST-AGE, which only the admin port tells, are those of kproxy groups describe, over all share-partitions
    of the group: how many records it has not finished, up to the ends of the logs, and how long ago the first of them
    was written, which is not for how long the group has stood still. >12 is at least 12, because of some
    share-partitions it is not known; why, stands on standard error.
    """
    if isinstance(source, Cluster):
        answer = listed_groups(source, states)
        Output(output, not no_headers).show(answer, items_of(answer), _LIST_OF_CLUSTER)
        return
    answer = answer_of(source.url, "groups", query={"lag": "true"}, timeout_s=_LIST_TIMEOUT_S)
    found = [group for group in items_of(answer) if not states or group["state"] in states]
    Output(output, not no_headers).show({**answer, "items": found}, found, _LIST)
    _say_why((group["groupId"], group["reason"]) for group in found)
    require_whole(answer)


@groups.command(
    epilog="""Examples:

\b
  kproxy groups describe orders-workers
  kproxy groups describe -g orders-workers -g auditors --members
  kproxy groups describe --all-groups --state -b localhost:9092

The exit code is 3 when there is no such group; of several, the others are shown.
"""
)
@with_groups
@click.option("--offsets", "aspect", flag_value="offsets", default=True, help="Share-partitions (default).")
@click.option("--members", "aspect", flag_value="members", help="Members and what they are assigned.")
@click.option("--state", "aspect", flag_value="state", help="State, epochs and number of members.")
@with_watch
@with_source
@with_output
def describe(
    source: AdminPort | Cluster,
    wanted: Sequence[str] | None,
    /,
    aspect: str,
    output: str,
    *,
    no_headers: bool,
) -> None:
    """Describe share groups.

    The columns are those of kafka-share-groups.sh, then, from the admin port, ours. LAG counts from START-OFFSET to the
    end of the log, without what is done with in between (KIP-1226). OLDEST-AGE is how long ago the first record was
    written that is not done with, by its timestamp; >5m00s is at least that. It is not for how long the queue has stood
    still (SINCE of kproxy log stuck), nor for how long somebody has held the record (kproxy why).

    A group that nobody fetches from is shown as the state log has it (LIVE no). With -o wide, WINDOW-END is the
    last offset in flight. HEARTBEAT-AGE, of --members, is how long ago a member's last heartbeat came: one that
    lives sends one every few seconds. SLOT is the slot of the state log that has the state of the group. What is
    not known is -, and why stands on standard error.
    """
    _describe(source, wanted, aspect, Output(output, not no_headers))


@groups.command(epilog="As kproxy groups describe --members.")
@with_groups
@with_watch
@with_source
@with_output
def members(
    source: AdminPort | Cluster, wanted: Sequence[str] | None, /, output: str, *, no_headers: bool
) -> None:
    """Show the members of share groups, and what they are assigned."""
    _describe(source, wanted, "members", Output(output, not no_headers))


@groups.command(epilog="As kproxy groups describe --offsets.")
@with_groups
@with_watch
@with_source
@with_output
def offsets(
    source: AdminPort | Cluster, wanted: Sequence[str] | None, /, output: str, *, no_headers: bool
) -> None:
    """Show where share groups stand in the partitions that they consume."""
    _describe(source, wanted, "offsets", Output(output, not no_headers))


for _command in (configs, reset_offsets, delete_offsets, delete):
    groups.add_command(_command)


def _describe(source: AdminPort | Cluster, wanted: Sequence[str] | None, aspect: str, output: Output) -> None:
    """Show one aspect of groups, None for all."""
    if isinstance(source, Cluster):
        described = groups_of_cluster(source, wanted, has_offsets=aspect == "offsets")
        offsets_shown: Sequence[Column] = _OFFSETS_OF_CLUSTER
        members_shown: Sequence[Column] = _MEMBERS_OF_CLUSTER
        state_shown: Sequence[Column] = _STATE_OF_CLUSTER
    else:
        described = described_groups(source.url, wanted, has_lag=aspect == "offsets")
        offsets_shown, members_shown, state_shown = _OFFSETS, _MEMBERS, _STATE
    found = items_of(described.answer)
    columns = {"offsets": offsets_shown, "members": members_shown, "state": state_shown}[aspect]
    rows = [row for group in found for row in _rows(group, aspect)]
    for group in found:
        _say_if_empty(group, aspect)
    output.show(described.answer, rows, columns)
    if aspect == "offsets":
        _say_why((_place(row, is_alone=len(found) == 1), row["reason"]) for row in rows)
    described.complain()
    require_whole(described.answer)


def _say_if_empty(group: Item, aspect: str) -> None:
    """Say of a group that it has no rows, in the words of kafka-share-groups."""
    if aspect == "members" and not group["members"]:
        click.echo(f"Share group {group['groupId']!r} has no active members.", err=True)
    if aspect == "offsets" and not group["sharePartitions"]:
        click.echo(f"Share group {group['groupId']!r} has no offset information.", err=True)


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
        click.echo(printable(f"{of_reason[0]}{more}: {reason}"), err=True)
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
    return [{**entry, "groupId": group["groupId"], "slot": group.get("slot")} for entry in listed]
