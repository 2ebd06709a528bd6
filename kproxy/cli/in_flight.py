"""`kproxy in-flight`: the records in flight of a running kproxy."""

from collections.abc import Mapping
from typing import Any

import click

from kproxy.cli.admin_port import require_whole, with_admin_url
from kproxy.cli.backing_cluster import BackingCluster
from kproxy.cli.in_flight_actions import accept, archive, release
from kproxy.cli.in_flight_finished import finished
from kproxy.cli.in_flight_place import say_source
from kproxy.cli.in_flight_record import show
from kproxy.cli.in_flight_window import window
from kproxy.cli.known_names import PARTITION_HELP, group_names, member_names, topic_names
from kproxy.cli.log_source import with_log_source
from kproxy.cli.output import Column, Output, with_output
from kproxy.cli.watch import with_watch
from kproxy.clients.admin_port import answer_of, items_of

_COLUMNS = (
    Column("GROUP", "groupId"),
    Column("TOPIC", lambda run: run["topicName"] or run["topicId"]),
    Column("PARTITION", "partition"),
    Column("FIRST-OFFSET", "firstOffset"),
    Column("LAST-OFFSET", "lastOffset"),
    Column("STATE", "state"),
    Column("DELIVERIES", "deliveryCount"),
    Column("CONSUMER-ID", "memberId"),
    Column("CLIENT-ID", "clientId"),
    Column("LOCK-MS", "lockRemainingMs"),
    Column("LOCK-DURATION-MS", "lockDurationMs", is_wide=True),
    Column("DELIVERY-LIMIT", "deliveryCountLimit", is_wide=True),
    Column("BLOCKED-BY", "blockedBy", is_wide=True),
    Column("LIVE", lambda run: run.get("live", True), is_wide=True),
)

STATES = ("Available", "Acquired", "Acknowledged", "Archiving", "Archived")

_NOTHING = (
    "Nothing of that is in flight: nothing was fetched, or all that was is done with. "
    "kproxy groups describe shows what waits."
)


@click.group("in-flight")
def in_flight() -> None:
    """Show the records in flight of a running kproxy, and settle some in an emergency."""


@in_flight.command(
    "list",
    epilog="""Examples:

\b
  kproxy in-flight list -g orders-workers -t orders -p 0
  kproxy in-flight list --state Acquired --held 60000
  kproxy in-flight list --deliveries 3 -o json | jq '.items[].firstOffset'
  kproxy in-flight list -g orders-workers --from-log -b localhost:9092

The exit code is 3 when there is no such group, topic or partition; one without records in flight is an empty table.
""",
)
@click.option("-g", "--group", metavar="GROUP", shell_complete=group_names, help="Of this group only.")
@click.option(
    "-t",
    "--topic",
    metavar="TOPIC",
    shell_complete=topic_names,
    help="Of this topic only: its name, or its id.",
)
@click.option("-p", "--partition", metavar="NUMBER", type=click.IntRange(0, 2**31 - 1), help=PARTITION_HELP)
@click.option(
    "-m", "--member", metavar="MEMBER", shell_complete=member_names, help="Held by this member only."
)
@click.option("--state", type=click.Choice(STATES, case_sensitive=False), help="In this state only.")
@click.option("--deliveries", type=click.IntRange(0, 2**15 - 1), help="Tried at least so often.")
@click.option(
    "--held", "held_ms", type=click.IntRange(0, 2**31 - 1), metavar="MS", help="Held at least so long."
)
@with_watch
@with_log_source
@with_admin_url
@with_output
def list_(  # noqa: PLR0913 - one for each option
    log: BackingCluster | None,
    /,
    *,
    group: str | None,
    topic: str | None,
    partition: int | None,
    member: str | None,
    state: str | None,
    deliveries: int | None,
    held_ms: int | None,
    admin_url: str,
    output: str,
    no_headers: bool,
) -> None:
    """List runs of offsets between start offset and end offset of share-partitions.

    Answers "what is stuck, who holds it, and how often was it tried?" LOCK-MS is how long an acquired record may
    still be held. When its lock has ended a record is Available, and held by nobody: DELIVERIES goes on to tell how
    often it was tried, and kproxy log audit --offset N who had it. Of a share-partition that nobody fetches from, as of
    a group whose members all left, the state log tells (LIVE no, with -o wide): nothing of it is held.
    """
    query = {
        "group": group,
        "topic": topic,
        "partition": partition,
        "member": member,
        "state": state,
        "deliveries": deliveries,
        "held": held_ms,
    }
    answer = answer_of(admin_url, "in-flight", query=query) if log is None else _of_log(log, query)
    runs = items_of(answer)
    Output(output, not no_headers).show(answer, runs, _COLUMNS)
    say_source(log)
    require_whole(answer)
    if not runs:
        click.echo(_NOTHING, err=True)


def _of_log(log: BackingCluster, query: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the state log has of what is asked for. Raises UsageError for what it cannot tell."""
    from kproxy.cli.durable_groups import durable_in_flight

    if query["member"] is not None or query["held"] is not None:
        raise click.UsageError(
            "--member and --held do not go with --from-log: who holds records is not in the log"
        )
    answer = durable_in_flight(log, group=query["group"], topic=query["topic"], partition=query["partition"])
    state, deliveries = query["state"], query["deliveries"] or 0
    found = [
        run
        for run in items_of(answer)
        if run["state"] == (state or run["state"]) and run["deliveryCount"] >= deliveries
    ]
    return {**answer, "items": found}


for _command in (show, window, finished, release, accept, archive):
    in_flight.add_command(_command)
