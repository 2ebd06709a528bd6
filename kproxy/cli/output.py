"""How lists are printed: for people in columns, for scripts as they like it; and the options that say so."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import click

from kproxy.clients.admin_port import Item
from kproxy.clients.tables import cell_text, table_lines

F = TypeVar("F", bound=Callable[..., object])

LIST_FORMS: Final = ("table", "wide", "json", "jsonl", "yaml", "csv", "name")
"""Of lists: columns, more columns, the whole answer (json, yaml), a line for each item (jsonl, csv), names alone."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, and what of an item it shows: a field by name, or what a function makes of the item.

    A wide one is left out of a plain table.
    """

    title: str
    shown: str | Callable[[Item], object]
    is_wide: bool = False

    def cell(self, item: Item) -> str:
        """Return the text of the cell."""
        return cell_text(item.get(self.shown) if isinstance(self.shown, str) else self.shown(item))


@dataclass(frozen=True, slots=True)
class Output:
    """What `-o` and `--no-headers` ask for."""

    form: str
    with_headers: bool

    def show(self, answer: Mapping[str, object], items: Sequence[Item], columns: Sequence[Column]) -> None:
        """Print `items` in `columns`, or with `-o json` and `yaml` the whole `answer`.

        `csv` has every column, and `name` what stands in the first one, of each item once.
        """
        match self.form:
            case "json":
                click.echo(json.dumps(answer, indent=2))
            case "yaml":
                click.echo(_yaml(answer), nl=False)
            case "jsonl":
                for item in items:
                    click.echo(json.dumps(item))
            case "csv":
                click.echo(self._csv(items, columns), nl=False)
            case "name":
                for name in dict.fromkeys(columns[0].cell(item) for item in items):
                    click.echo(name)
            case _:
                self._table(items, columns)

    def _csv(self, items: Sequence[Item], columns: Sequence[Column]) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if self.with_headers:
            writer.writerow([column.title for column in columns])
        writer.writerows([[column.cell(item) for column in columns] for item in items])
        return text.getvalue()

    def _table(self, items: Sequence[Item], columns: Sequence[Column]) -> None:
        chosen = [column for column in columns if self.form == "wide" or not column.is_wide]
        rows = [[column.cell(item) for column in chosen] for item in items]
        for line in table_lines([column.title for column in chosen], rows, with_header=self.with_headers):
            click.echo(line)


def with_form(*forms: str, default: str, note: str = "") -> Callable[[F], F]:
    """Give a command the option `-o` with these forms; it is called with `output`."""
    return click.option(
        "-o",
        "--output",
        "output",
        type=click.Choice(forms),
        default=default,
        show_default=True,
        help=f"Format{note}.",
    )


def with_table_form(*forms: str, default: str, note: str = "") -> Callable[[F], F]:
    """Do the same, and add `--no-headers` for tables; the command is called with `no_headers`, too."""
    form = with_form(*forms, default=default, note=note)
    headers = click.option("--no-headers", is_flag=True, help="Leave the titles of the columns out.")
    return lambda command: form(headers(command))


def with_output(command: F) -> F:
    """Give `command` the options that `Output` is made of."""
    return with_table_form(*LIST_FORMS, default="table", note="; wide appends columns")(command)


def _yaml(answer: Mapping[str, object]) -> str:
    import yaml

    return str(yaml.safe_dump(answer, sort_keys=False))


def partitions_text(topics: Sequence[Item]) -> str:
    """Return partitions by topic as Kafka's tools print them: `topicA:0,1;topicB:2`."""
    return ";".join(
        f"{topic['topicName'] or topic['topicId']}:{','.join(map(str, topic['partitions']))}"
        for topic in topics
    )
