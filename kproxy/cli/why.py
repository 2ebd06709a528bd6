"""`kproxy why`: what holds share groups up: one in one screen, or the worst of all in a paragraph each."""

import json
from collections.abc import Sequence
from typing import Final

import click

from kproxy.cli.admin_port import require_whole, with_admin_url
from kproxy.cli.known_names import PARTITION_HELP, group_names, topic_names
from kproxy.cli.output import with_form
from kproxy.cli.watch import with_watch
from kproxy.cli.why_lines import group_lines, paragraphs
from kproxy.clients.diagnosis.fields import JsonObject, fields_of, member_fields
from kproxy.clients.diagnosis.looks import GroupDiagnosis, Place, diagnosed_group, diagnosed_groups

SHOWN: Final = 5
"""Share-partitions of a group, or groups, unless all are asked for."""
MOST_GROUPS: Final = 50
"""Even if all are asked for: each is three or four questions to the admin port."""


@click.command(
    epilog="""Examples:

\b
  kproxy why
  kproxy why -g orders-workers
  kproxy why -g orders-workers -t orders -p 3
  kproxy why -g orders-workers --watch

The exit code is 3 when there is no such group, topic or partition.
"""
)
@click.option(
    "-g", "--group", metavar="GROUP", shell_complete=group_names, help="This share group; otherwise all."
)
@click.option(
    "-t",
    "--topic",
    metavar="TOPIC",
    shell_complete=topic_names,
    help="Of this topic only: its name, or its id.",
)
@click.option("-p", "--partition", metavar="NUMBER", type=click.IntRange(0, 2**31 - 1), help=PARTITION_HELP)
@click.option(
    "--all",
    "are_all",
    is_flag=True,
    help=(
        f"Every share-partition of the group, otherwise the {SHOWN} worst; "
        f"without -g up to {MOST_GROUPS} groups, otherwise {SHOWN}."
    ),
)
@with_watch
@with_admin_url
@with_form("text", "json", default="text")
def why(
    group: str | None, topic: str | None, partition: int | None, admin_url: str, output: str, *, are_all: bool
) -> None:
    """Say why a share group does not move: which record blocks it, who holds that for how long, and what comes next.

    The share-partition whose first unfinished record was written first comes first. What is not done with can be held
    by a member (Acquired) until its lock ends, or wait for a member that fetches (Available); all behind it may be done
    with and still counts until it is. A member that seems to be dead or to hang is named above, and so is a broker that
    is down and has the state of the group. Without -g the groups that do worst are told of in a few lines each: its
    worst share-partition, what is the matter there and what comes next.
    """
    if group is None:
        if (topic, partition) != (None, None):
            raise click.UsageError("-t and -p go with -g: of which group?")
        _tell_of_all(admin_url, output, most=MOST_GROUPS if are_all else SHOWN)
        return
    found = diagnosed_group(admin_url, group, place=Place(topic, partition), most=None if are_all else SHOWN)
    if output == "json":
        click.echo(json.dumps(_json_of(found.answer, [found], left_out=found.left_out), indent=2))
    else:
        for line in group_lines(found):
            click.echo(line)
    require_whole(found.answer)


def _slot_of(found: GroupDiagnosis) -> JsonObject:
    """Return in which slot of the state log a group is, and on which brokers that is."""
    slot = found.slot or {}
    names = ("leader", "groupsLeader", "unwritable", "downBrokers")
    told = {name: slot.get(name) for name in names}
    return {"groupId": found.group["groupId"], "slot": slot.get("partition"), **told}


def _tell_of_all(admin_url: str, output: str, *, most: int) -> None:
    found = diagnosed_groups(admin_url, most=most)
    if output == "json":
        click.echo(json.dumps(_json_of(found.answer, found.groups, left_out=found.left_out), indent=2))
    else:
        for line in paragraphs(found):
            click.echo(line)
    require_whole(found.answer)


def _json_of(answer: JsonObject, groups: Sequence[GroupDiagnosis], *, left_out: int) -> JsonObject:
    silent = [
        {"groupId": each.group["groupId"], **member_fields(member, now_ms=each.now_ms)}
        for each in groups
        for member in each.silent
    ]
    return {
        **answer,
        "kind": "ShareGroupFindings",
        "leftOut": left_out,
        "silentMembers": silent,
        "hungMembers": [
            {
                "groupId": each.group["groupId"],
                **member_fields(hung.member, now_ms=each.now_ms),
                "lastRequestAgeMs": hung.idle_ms,
                "recordCount": hung.record_count,
                "allCounted": hung.is_all,
            }
            for each in groups
            for hung in each.hung
        ],
        "stateSlots": [_slot_of(each) for each in groups],
        "items": [fields_of(finding) for each in groups for finding in each.findings],
    }
