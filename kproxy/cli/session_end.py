"""`kproxy sessions end`: the share sessions of a member, ended by an operator."""

from typing import Final

import click

from kproxy.cli.admin_port import with_admin_url
from kproxy.cli.known_names import group_names, member_names
from kproxy.cli.operator_requests import request, show, with_reason
from kproxy.cli.output import Column, Output, with_output

_COLUMNS: Final = (
    Column("GROUP", "groupId"),
    Column("CONSUMER-ID", "memberId"),
    Column("NODE", "nodeId"),
    Column("CONNECTION", "connectionId"),
    Column("#PARTITIONS", "partitionCount"),
    Column("#HELD", "heldCount"),
)


@click.command(
    epilog="""Examples:

\b
  kproxy sessions end -g orders-workers -m 9aSXrNWgQPa5mPmG0NzMNg
  kproxy sessions end -g orders-workers -m 9aSXrNWgQPa5mPmG0NzMNg --execute --reason "it hangs, ticket 4711"

What is held in them is taken back, and the attempts count. A member that is alive hears SHARE_SESSION_NOT_FOUND and
opens a new session with its next fetch: to keep it away, end its process. The state log says which records were taken
back and why, of a session that held some. The exit code is 3 when there is no such group, member or session.
"""
)
@click.option(
    "-g", "--group", required=True, metavar="GROUP", shell_complete=group_names, help="The share group."
)
@click.option(
    "-m", "--member", required=True, metavar="MEMBER", shell_complete=member_names, help="The member."
)
@click.option("--node", type=click.IntRange(-1, 2**31 - 1), help="The session with this broker only.")
@with_admin_url
@with_reason
@with_output
def end(  # noqa: PLR0913 - one for each option
    *,
    group: str,
    member: str,
    node: int | None,
    admin_url: str,
    is_executed: bool,
    reason: str | None,
    output: str,
    no_headers: bool,
) -> None:
    """End the share sessions of a member, and take back what it holds in them.

    #HELD is how many records of the partitions of a session the member holds. Without --execute it is only shown what
    would end.
    """
    fields = {"action": "end-session", "group": group, "member": member, "node": node}
    answer = request(admin_url, fields, is_executed=is_executed, reason=reason)
    show(answer, _COLUMNS, Output(output, not no_headers), is_executed=is_executed, done="ended, durably")
