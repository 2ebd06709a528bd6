"""`kproxy groups configs`: the configurations of share groups, over the wire."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import click

from kproxy.cli.cluster_groups import answer, item_of
from kproxy.cli.execution import end, with_execution
from kproxy.cli.group_choice import with_group
from kproxy.cli.group_source import Cluster, with_cluster
from kproxy.cli.output import Column, Output, with_table_form
from kproxy.clients.admin_port import Item

_CONFIGS: Final = (
    Column("GROUP", "groupId"),
    Column("NAME", "name"),
    Column("VALUE", "value"),
    Column("SOURCE", "source"),
)
_CHANGES: Final = (
    Column("GROUP", "groupId"),
    Column("NAME", "name"),
    Column("CHANGE", "change"),
    Column("NEW-VALUE", "newValue"),
)


def _assignments(
    _context: click.Context, _option: click.Parameter, texts: Sequence[str]
) -> Mapping[str, str]:
    """Return the values by name."""
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{text!r}: expected KEY=VALUE")
        values[name] = value
    return values


@click.command(
    epilog="""Examples:

\b
  kproxy groups configs orders-workers -b localhost:9092
  kproxy groups configs orders-workers -b localhost:9092 --set share.auto.offset.reset=earliest --execute
  kproxy groups configs orders-workers -b localhost:9092 --delete share.auto.offset.reset --execute

Configurations are of an id, whether or not there is such a group yet. The exit code is 1 when the cluster refuses them.
"""
)
@with_group
@click.option(
    "--set", "values", metavar="KEY=VALUE", multiple=True, callback=_assignments, help="May be repeated."
)
@click.option("--delete", "deleted", metavar="KEY", multiple=True, help="Take the default; may be repeated.")
@with_execution
@with_cluster
@with_table_form("table", "json", default="table")
def configs(
    cluster: Cluster,
    group_id: str,
    /,
    output: str,
    *,
    is_executed: bool,
    no_headers: bool,
    **changes: Any,
) -> None:
    """Show what is configured for a share group, and where each value comes from; or change it.

    Without --execute the cluster only says whether it would take the changes.
    """
    form = Output(output, not no_headers)
    values, deleted = changes["values"], list(dict.fromkeys(changes["deleted"]))
    if values or deleted:
        _change(cluster, group_id, values, deleted, is_executed=is_executed)
        items = [*_items(group_id, "set", values), *_items(group_id, "delete", dict.fromkeys(deleted))]
        form.show(answer("GroupConfigs", items, executed=is_executed), items, _CHANGES)
        end({}, "configuration", is_executed=is_executed)
    elif is_executed:
        raise click.UsageError("--execute goes with --set or --delete")
    else:
        items = _described(cluster, group_id)
        form.show(answer("GroupConfigs", items), items, _CONFIGS)


def _described(cluster: Cluster, group_id: str) -> list[Item]:
    from kproxy.clients.cluster.group_configs import describe_configs

    with cluster.connected() as client:
        return [item_of(config, groupId=group_id) for config in describe_configs(client, group_id)]


def _change(
    cluster: Cluster, group_id: str, values: Mapping[str, str], deleted: Sequence[str], *, is_executed: bool
) -> None:
    from kproxy.clients.cluster.group_configs import alter_configs

    twice = sorted(set(values) & set(deleted))
    if twice:
        raise click.UsageError(f"{twice[0]} is set and deleted: give one of both")
    with cluster.connected() as client:
        alter_configs(client, group_id, values=values, deleted=deleted, is_dry_run=not is_executed)


def _items(group_id: str, change: str, values: Mapping[str, str | None]) -> Iterator[Item]:
    for name, value in values.items():
        yield {"groupId": group_id, "name": name, "change": change, "newValue": value}
