"""`kproxy sessions describe`: the share sessions of a member, and what it holds through each."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from kproxy.cli.admin_port import require_whole, with_admin_url
from kproxy.cli.ages import age_text
from kproxy.cli.exit_codes import CommandFailed, ExitCode
from kproxy.cli.known_names import group_names, member_names
from kproxy.cli.output import partitions_text, with_form
from kproxy.cli.watch import with_watch
from kproxy.clients.admin_port import Item, answer_of, items_of
from kproxy.clients.diagnosis.attempts import attempt_text
from kproxy.clients.tables import cell_text
from kproxy.wording import counted


@click.command(
    epilog="""Examples:

\b
  kproxy sessions describe -g orders-workers -m UD9OBuaSSJ6CmckV5pmi2g
  kproxy sessions describe -g orders-workers -m UD9OBuaSSJ6CmckV5pmi2g --node 1 -o json

The exit code is 3 when there is no such group or member, or no share session of it.
"""
)
@click.option(
    "-g", "--group", required=True, metavar="GROUP", shell_complete=group_names, help="The share group."
)
@click.option(
    "-m",
    "--member",
    required=True,
    metavar="MEMBER",
    shell_complete=member_names,
    help="The member of the group.",
)
@click.option("--node", type=click.IntRange(0, 2**31 - 1), help="Its session with this broker only.")
@with_watch
@with_admin_url
@with_form("text", "json", default="text")
def describe(group: str, member: str, node: int | None, admin_url: str, output: str) -> None:
    """Show the share sessions of a member: whose they are, what they fetch, and what is in flight of each.

    A member has a session for each broker that it thinks it talks to. The next request of a session must have its
    epoch; idle is how long ago the last one came, or a fetch that waited was over, heartbeat how long ago the member
    last said that it lives.
    """
    query = {"group": group, "member": member}
    answer = answer_of(admin_url, "sessions", query=query)
    found = [each for each in items_of(answer) if node in {None, each["nodeId"]}]
    if not found:
        require_whole(answer)
        raise CommandFailed(_none_there(group, member, items_of(answer), node), ExitCode.NOT_FOUND)
    held = answer_of(admin_url, "in-flight", query={**query, "state": "Acquired"})
    described = [{**each, "inFlight": _held_through(each, items_of(held))} for each in found]
    if output == "json":
        whole = {**answer, "kind": "ShareSessionDescriptions", "items": described}
        click.echo(json.dumps(whole, indent=2))
    else:
        click.echo("\n\n".join("\n".join(_lines(each)) for each in described))
    require_whole(answer)
    require_whole(held)


def _held_through(session: Item, runs: Sequence[Item]) -> list[Item]:
    """Return what the member holds of the partitions of a session."""
    places = {(topic["topicId"], number) for topic in session["partitions"] for number in topic["partitions"]}
    return [run for run in runs if (run["topicId"], run["partition"]) in places]


def _none_there(group: str, member: str, others: Sequence[Item], node: int | None) -> str:
    if others:
        nodes = ", ".join(str(each["nodeId"]) for each in others)
        return f"member {member!r} has no share session with broker {node}; it has one with {nodes}"
    return (
        f"member {member!r} of share group {group!r} has no share session: it fetches from no broker; "
        f"what it still holds: kproxy in-flight list -g {group} -m {member}"
    )


def _lines(session: Mapping[str, Any]) -> Iterator[str]:
    yield f"{cell_text(session['memberId'])} of {cell_text(session['groupId'])} with broker {session['nodeId']}"
    facts = list(_facts(session))
    width = max(len(name) for name, _ in facts) + 1
    for name, text in facts:
        yield f"  {f'{name}:' if name else '':<{width}}  {cell_text(text)}"


def _facts(session: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "client id", session["clientId"] or "not known"
    yield "address", session["clientHost"].removeprefix("/") or "not known"
    yield "principal", session["principal"] or "not known"
    yield "connection", str(session["connectionId"])
    yield "next epoch", str(session["nextEpoch"])
    since = f"{session['idleMs'] / 1000:.1f} s"
    yield "idle", f"no: a fetch has waited for {since}" if session.get("fetching") else since
    heartbeat = age_text(session.get("lastHeartbeatAgeMs"))
    yield "heartbeat", "not known" if heartbeat is None else f"{heartbeat} ago"
    where = f": {partitions_text(session['partitions'])}" if session["partitions"] else ""
    yield "partitions", f"{session['partitionCount']}{where}"
    runs = session["inFlight"]
    count = sum(run["lastOffset"] - run["firstOffset"] + 1 for run in runs)
    yield "in flight", counted(count, "record") if runs else "nothing"
    for run in runs:
        yield "", _run_text(run)


def _run_text(run: Item) -> str:
    left = f"lock ends in {run['lockRemainingMs'] / 1000:.1f} s"
    topic = run["topicName"] or run["topicId"]
    return f"{topic}-{run['partition']}: {run['firstOffset']} to {run['lastOffset']}, {attempt_text(run)}, {left}"
