"""`kproxy in-flight show`: one record, who has it, and what happens next."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import click

from kproxy.cli.admin_port import require_whole, with_admin_url
from kproxy.cli.backing_cluster import BackingCluster
from kproxy.cli.exit_codes import CommandFailed, ExitCode
from kproxy.cli.in_flight_place import (
    NOT_LIVE,
    is_live,
    one_share_partition,
    runs_of,
    say_source,
    with_offset,
)
from kproxy.cli.log_source import with_log_source
from kproxy.cli.output import with_form
from kproxy.cli.watch import with_watch
from kproxy.clients.admin_port import Item
from kproxy.clients.diagnosis.attempts import attempt_text, next_of_run
from kproxy.clients.diagnosis.locks import held_text, locks_text
from kproxy.clients.diagnosis.looks import moment_of
from kproxy.clients.tables import cell_text


@click.command(
    epilog="""Examples:

\b
  kproxy in-flight show -g orders-workers -t orders -p 0 4711
  kproxy in-flight show -g orders-workers -t orders -p 0 --offset 4711 -o json

The exit code is 3 when the record is not in flight: it is done with, or nobody has fetched it yet. Who had it before
is in the state log: kproxy log audit -g GROUP -t TOPIC -p PARTITION --offset OFFSET.
"""
)
@one_share_partition
@with_offset
@with_watch
@with_log_source
@with_admin_url
@with_form("text", "json", default="text")
def show(  # noqa: PLR0913 - one for each option
    log: BackingCluster | None,
    /,
    *,
    group: str,
    topic: str,
    partition: int,
    offset: int | None,
    admin_url: str,
    output: str,
) -> None:
    """Show one record: its state, who has it, at which attempt, until when, and what happens next."""
    if offset is None:
        raise click.UsageError("show what? give the offset of a record")
    answer, runs = runs_of(log, admin_url, group, topic, partition)
    found = next((run for run in runs if run["firstOffset"] <= offset <= run["lastOffset"]), None)
    if found is None:
        require_whole(answer)
        say_source(log)
        raise CommandFailed(_absent(runs, offset), ExitCode.NOT_FOUND)
    now_ms = moment_of(answer)
    record = {**found, "offset": offset, "next": next_of_run(found, now_ms=now_ms)}
    if output == "json":
        click.echo(json.dumps({**answer, "items": [record]}, indent=2))
    else:
        facts = list(_facts(record, now_ms=now_ms))
        width = max(len(name) for name, _ in facts) + 1
        for name, text in facts:
            click.echo(f"{name + ':':<{width}}  {cell_text(text)}")
    say_source(log)
    require_whole(answer)


def _absent(runs: Sequence[Item], offset: int) -> str:
    if not runs:
        return f"offset {offset} is not in flight: nothing of this share-partition is"
    start, end = runs[0]["firstOffset"], runs[-1]["lastOffset"]
    where = (
        "it is done with: kproxy log audit has its history" if offset < start else "nobody has fetched it yet"
    )
    return f"offset {offset} is not in flight, {start} to {end} are: {where}"


def _facts(record: dict[str, Any], *, now_ms: int) -> Iterator[tuple[str, str]]:
    yield "offset", f"{record['offset']}, in a run of {record['firstOffset']} to {record['lastOffset']}"
    yield "state", record["state"]
    yield "attempt", attempt_text(record).removeprefix("attempt ")
    if record["memberId"] is not None:
        client = f" ({record['clientId']})" if record["clientId"] else ""
        yield "held by", f"{record['memberId']}{client}, {held_text(record, now_ms=now_ms)}"
        yield "locks", locks_text(record)
    if not is_live([record]):
        yield "live", f"no: {NOT_LIVE}"
    blocked_by = record["blockedBy"]
    yield "blocked by", "nothing: it is the first one" if blocked_by is None else f"offset {blocked_by}"
    yield "next", record["next"]
