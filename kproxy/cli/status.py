"""`kproxy status`: what a running kproxy says of itself on its admin port."""

import json
from collections.abc import Iterator, Mapping, Sequence

import click

from kproxy.cli.admin_port import with_admin_url
from kproxy.cli.exit_codes import CommandFailed, ExitCode
from kproxy.cli.fleet_lines import fleet_facts, fleet_tables
from kproxy.cli.output import with_form
from kproxy.cli.watch import with_watch
from kproxy.clients.admin_port import Item, answer_of, items_of
from kproxy.clients.tables import cell_text, table_lines


@click.command(
    epilog="""Examples:

\b
  kproxy status
  until kproxy status -o json >status.json; do sleep 1; done

The exit code is 0 when it is ready and share groups are on, or off for good, 5 when it is not ready (starting,
not-ready, draining) or share groups are unavailable, and 4 when nobody answers.
"""
)
@with_watch
@with_admin_url
@with_form("table", "json", default="table")
def status(admin_url: str, output: str) -> None:
    """Show what a running kproxy is and does.

    Answers "is it ready, which ports has it opened, are share groups on, which processes serve them together?"
    backingCluster is where the state log is, what its two topics are called there, and how kproxy reaches it: what
    kproxy log is given, with --command-config unless securityProtocol is PLAINTEXT. fleet.troubledSlots are slots of
    the state log that are not served, and why: stopped ones wait for somebody. A broker that is not listed is one that
    the cluster does not name any more: kproxy brokers tells since when. warnings, on standard error too, do not change
    the exit code: slots_without_leader are slots to which nothing can be written until a broker is back.
    """
    answer = answer_of(admin_url, "status")
    items = items_of(answer)
    if output == "json":
        click.echo(json.dumps(answer, indent=2))
    else:
        for item in items:
            click.echo("\n".join(_item_lines(item)))
    for item in items:
        for warning in item.get("warnings") or ():
            click.echo(f"Warning: {cell_text(warning['check'])}: {cell_text(warning['detail'])}", err=True)
        _require_ready(item)


def _require_ready(item: Item) -> None:
    """Raise CommandFailed: CHECK_FAILED unless the process is ready, and serves share groups if it is to serve them."""
    state, share_groups = item.get("state"), item.get("shareGroups") or {}
    if state != "ready":
        why = "; ".join(f"{problem['check']}: {problem['detail']}" for problem in item.get("problems") or [])
        raise CommandFailed(f"kproxy is {state}" + (f": {why}" if why else ""), ExitCode.CHECK_FAILED)
    if share_groups.get("state") == "unavailable":
        raise CommandFailed(
            f"share groups are unavailable: {share_groups.get('reason')}", ExitCode.CHECK_FAILED
        )


def _item_lines(item: Mapping[str, object]) -> Iterator[str]:
    fleet = item.get("fleet")
    facts = list(_facts({name: value for name, value in item.items() if name != "fleet"}, ""))
    if isinstance(fleet, dict):
        facts += fleet_facts(fleet)
    width = max((len(name) for name, _ in facts), default=0)
    yield from (f"{name.ljust(width)}  {value}" for name, value in facts)
    lists = {**item, **fleet_tables(fleet)} if isinstance(fleet, dict) else item
    for name, value in lists.items():
        if isinstance(value, list) and value:
            yield ""
            yield f"{name}:"
            yield from _member_lines(value)


def _facts(item: Mapping[str, object], prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in item.items():
        if isinstance(value, dict):
            yield from _facts(value, f"{prefix}{name}.")
        elif not isinstance(value, list):
            yield f"{prefix}{name}", cell_text(value)


def _member_lines(members: Sequence[Mapping[str, object]]) -> Iterator[str]:
    header = list(members[0])
    yield from table_lines(header, [[cell_text(member.get(name)) for name in header] for member in members])
