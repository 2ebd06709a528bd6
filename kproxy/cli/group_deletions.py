"""`kproxy groups delete` and `delete-offsets`: over the wire, and only with `--execute`.

What is refused, and in which words, is what Kafka's own tool refuses (`ShareGroupCommand`).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from kproxy.cli.cluster_groups import answer
from kproxy.cli.execution import end, status_text, with_execution
from kproxy.cli.group_choice import with_group, with_groups
from kproxy.cli.group_source import Cluster, with_cluster
from kproxy.cli.known_names import topic_names
from kproxy.cli.output import Column, Output, with_table_form
from kproxy.clients.failures import ClientFailed, NotThere

if TYPE_CHECKING:
    from kproxy.clients.cluster.cluster_client import ClusterClient

_GROUPS: Final = (Column("GROUP", "groupId"), Column("STATUS", "status"))
_TOPICS: Final = (Column("TOPIC", "topicName"), Column("STATUS", "status"))


@click.command(
    epilog="""Examples:

\b
  kproxy groups delete orders-workers -b localhost:9092
  kproxy groups delete -g orders-workers -g auditors -b localhost:9092 --execute

The exit code is 3 when there is none of the groups, 1 when all have members, and 6 when others could be deleted.
"""
)
@with_groups
@with_execution
@with_cluster
@with_table_form("table", "json", default="table")
def delete(
    cluster: Cluster,
    wanted: Sequence[str] | None,
    /,
    output: str,
    *,
    is_executed: bool,
    no_headers: bool,
) -> None:
    """Delete share groups without members, with all that is known of what they consumed.

    Without --execute it is only checked whether they can be. Groups of other types are let alone.
    """
    from kproxy.clients.cluster import share_groups

    with cluster.connected() as client:
        listed = share_groups.list_share_groups(client)
        group_ids = [group.group_id for group in listed] if wanted is None else wanted
        outcomes = share_groups.require_deletable(group_ids, listed)
        if is_executed:
            deletable = [group_id for group_id, failure in outcomes.items() if failure is None]
            outcomes |= share_groups.delete_share_groups(client, deletable)
    items = [
        {"groupId": group_id, "status": status_text(failure, is_executed=is_executed)}
        for group_id, failure in outcomes.items()
    ]
    shown = answer("ShareGroups", items, executed=is_executed)
    Output(output, not no_headers).show(shown, items, _GROUPS)
    end(outcomes, "group", is_executed=is_executed)


@click.command(
    "delete-offsets",
    epilog="""Examples:

\b
  kproxy groups delete-offsets orders-workers -b localhost:9092 -t orders
  kproxy groups delete-offsets orders-workers -b localhost:9092 -t orders -t payments --execute

The exit code is 3 when there is no such group, or it has offsets of none of the topics, 1 when it has members, and 6
when it has offsets of some of the topics only.
""",
)
@with_group
@click.option(
    "-t",
    "--topic",
    "topics",
    metavar="TOPIC",
    shell_complete=topic_names,
    multiple=True,
    required=True,
    help="May be repeated.",
)
@with_execution
@with_cluster
@with_table_form("table", "json", default="table")
def delete_offsets(
    cluster: Cluster,
    group_id: str,
    /,
    topics: Sequence[str],
    output: str,
    *,
    is_executed: bool,
    no_headers: bool,
) -> None:
    """Forget where a share group without members stands in topics.

    Who joins it again begins there as in a new group. Without --execute it is only checked whether it can be done.
    """
    names = list(dict.fromkeys(topics))
    with cluster.connected() as client:
        outcomes = (_deleted if is_executed else _deletable)(client, group_id, names)
    items = [
        {"topicName": name, "status": status_text(failure, is_executed=is_executed)}
        for name, failure in outcomes.items()
    ]
    shown = answer("ShareGroupTopics", items, executed=is_executed)
    Output(output, not no_headers).show(shown, items, _TOPICS)
    end(outcomes, "topic", is_executed=is_executed)


def _deleted(client: "ClusterClient", group_id: str, names: Sequence[str]) -> dict[str, ClientFailed | None]:
    from kproxy.clients.cluster.share_offsets import delete_offsets as delete_them

    return delete_them(client, group_id, names)


def _deletable(
    client: "ClusterClient", group_id: str, names: Sequence[str]
) -> dict[str, ClientFailed | None]:
    """Return what the deletion of each topic's offsets would come to. Raises what it would raise."""
    from kproxy.clients.cluster.share_groups import require_without_members
    from kproxy.clients.cluster.share_offsets import describe_offsets

    require_without_members(client, group_id)
    known = {offset.topic_name for offset in describe_offsets(client, group_id)}
    missing = NotThere("There is no offset information to delete.")
    return {name: None if name in known else missing for name in names}
