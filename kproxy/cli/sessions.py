"""`kproxy sessions`: the share sessions of a running kproxy."""

import click

from kproxy.cli.admin_port import require_whole, with_admin_url
from kproxy.cli.ages import age_text
from kproxy.cli.backing_cluster import BackingCluster
from kproxy.cli.known_names import group_names, member_names
from kproxy.cli.log_source import with_log_source
from kproxy.cli.output import Column, Output, partitions_text, with_output
from kproxy.cli.session_description import describe
from kproxy.cli.session_end import end
from kproxy.cli.watch import with_watch
from kproxy.clients.admin_port import answer_of, items_of

_COLUMNS = (
    Column("GROUP", "groupId"),
    Column("CONSUMER-ID", "memberId"),
    Column("CLIENT-ID", "clientId"),
    Column("NODE", "nodeId"),
    Column("CONNECTION", "connectionId"),
    Column("NEXT-EPOCH", "nextEpoch"),
    Column("#PARTITIONS", "partitionCount"),
    Column("IDLE-MS", "idleMs"),
    Column("HEARTBEAT-AGE", lambda session: age_text(session.get("lastHeartbeatAgeMs"))),
    Column("PARTITIONS", lambda session: partitions_text(session["partitions"]), is_wide=True),
)
_MEMBERS = (
    Column("GROUP", "groupId"),
    Column("CONSUMER-ID", "memberId"),
    Column("CLIENT-ID", "clientId"),
    Column("HOST", "clientHost"),
    Column("MEMBER-EPOCH", "memberEpoch"),
    Column("#PARTITIONS", lambda member: sum(len(topic["partitions"]) for topic in member["assignment"])),
    Column("PARTITIONS", lambda member: partitions_text(member["assignment"]), is_wide=True),
)


@click.group()
def sessions() -> None:
    """Show the share sessions of a running kproxy, and end them in an emergency."""


@sessions.command(
    "list",
    epilog="""Examples:

\b
  kproxy sessions list -g orders-workers -o wide
  kproxy sessions list -o json | jq '.items[] | select(.idleMs > 60000)'
  kproxy sessions list -g orders-workers --from-log -b localhost:9092

The exit code is 3 when there is no such group or member; a group without share sessions is an empty table.
""",
)
@click.option("-g", "--group", metavar="GROUP", shell_complete=group_names, help="Of this group only.")
@click.option("-m", "--member", metavar="MEMBER", shell_complete=member_names, help="Of this member only.")
@with_watch
@with_log_source
@with_admin_url
@with_output
def list_(
    log: BackingCluster | None,
    /,
    group: str | None,
    member: str | None,
    admin_url: str,
    output: str,
    *,
    no_headers: bool,
) -> None:
    """List open share sessions: who fetches, at which port, on which connection.

    A member has a session for each broker that it thinks it talks to. NEXT-EPOCH is the session epoch that its next
    request must have. IDLE-MS is how long ago its last request came: a member with nothing to do fetches again as soon
    as its last fetch has waited for its MaxWaitMs (500 ms by default), one that works on records when it is done.
    HEARTBEAT-AGE is how long ago its last heartbeat came: every few seconds one comes, working or not, from a member
    that lives.

    Sessions are gone with the kproxy that had them: --from-log shows the members of groups instead.
    """
    if log is not None:
        from kproxy.cli.durable_groups import durable_members

        answer = durable_members(log, group=group, member=member)
        Output(output, not no_headers).show(answer, items_of(answer), _MEMBERS)
        click.echo("From the state log, which has members: their share sessions are not durable.", err=True)
        return
    answer = answer_of(admin_url, "sessions", query={"group": group, "member": member})
    Output(output, not no_headers).show(answer, items_of(answer), _COLUMNS)
    require_whole(answer)


sessions.add_command(describe)
sessions.add_command(end)
