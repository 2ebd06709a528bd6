"""`kproxy status`: what a running kproxy says of itself on its admin port."""

import json
from collections.abc import Iterator, Mapping, Sequence

import click

from kproxy.cli.admin_port import with_admin_url
from kproxy.cli.output import with_form
from kproxy.clients.admin_port import answer_of, items_of
from kproxy.clients.tables import cell_text, table_lines


@click.command()
@with_admin_url
@with_form("table", "json", default="table")
def status(admin_url: str, output: str) -> None:
    """Show what a running kproxy is and does.

    Answers "is it ready, which ports has it opened, are share groups on?"
    """
    answer = answer_of(admin_url, "status")
    if output == "json":
        click.echo(json.dumps(answer, indent=2))
        return
    for item in items_of(answer):
        click.echo("\n".join(_item_lines(item)))


def _item_lines(item: Mapping[str, object]) -> Iterator[str]:
    facts = list(_facts(item, ""))
    width = max((len(name) for name, _ in facts), default=0)
    yield from (f"{name.ljust(width)}  {value}" for name, value in facts)
    for name, value in item.items():
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
