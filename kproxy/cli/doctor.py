"""`kproxy doctor`: what stands in the way between this place, kproxy and its cluster, with the remedy."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click

from kproxy.cli.admin_port import with_admin_url
from kproxy.cli.backing_cluster import BackingCluster, with_backing_cluster
from kproxy.cli.exit_codes import CommandFailed, ExitCode
from kproxy.cli.output import with_form
from kproxy.clients.checkup.checks import Check, Outcome, Subject
from kproxy.clients.failures import ClientFailed
from kproxy.clients.tables import cell_text
from kproxy.settings import KEYS
from kproxy.wording import counted

if TYPE_CHECKING:
    from kproxy.clients.checkup.cluster_checks import StateTopicWishes
    from kproxy.clients.checkup.own_rights_checks import OwnNames
    from kproxy.clients.checkup.proxy_checks import LookedAt
    from kproxy.clients.cluster.access import ClusterAccess
    from kproxy.clients.cluster.cluster_client import ClusterClient
    from kproxy.clients.cluster.connection import BrokerAddress

_TIMEOUT_MS: Final = 30_000
_STATE_TOPIC: Final = "kproxy.state.topic.name"
_GROUPS_TOPIC: Final = "kproxy.groups.topic.name"
_SIGNS: Final[Mapping[Outcome, tuple[str, str]]] = {
    Outcome.OK: ("ok", "green"),
    Outcome.WARNING: ("warning", "yellow"),
    Outcome.FAILED: ("FAILED", "red"),
    Outcome.SKIPPED: ("skipped", "bright_black"),
}
_UNREACHABLE: Final = (
    "brokers have to listen there for kproxy: look at bootstrap.servers, firewalls, advertised.listeners"
)


@click.command(
    epilog="""Examples:

\b
  kproxy doctor -c kproxy.toml
  kproxy doctor -b broker1:9092,broker2:9092 --admin-url http://127.0.0.1:9644
  kproxy doctor -c kproxy.toml --topic orders
  kproxy doctor -c kproxy.toml -o json | jq '.items[] | select(.outcome == "failed")'

Nothing is changed: of topics that are missing the cluster is asked whether it would make them. The exit code is 5
when a check failed. How far the clocks of brokers are off no request tells; kproxy's own is compared with this host's.
"""
)
@with_backing_cluster
@with_admin_url
@click.option(
    "--topic",
    "topics",
    multiple=True,
    metavar="NAME",
    help="A topic that share groups are to consume: may kproxy read it? May be given again.",
)
@with_form("text", "json", default="text")
def doctor(cluster: BackingCluster, admin_url: str, topics: tuple[str, ...], output: str) -> None:
    """Look for what stands in the way of kproxy: each failure with its remedy.

    Names, connections, TLS, logins and versions of the brokers, at their bootstrap addresses and where they advertise
    themselves; the topics of the state log and kproxy's rights; the running kproxy, its clock, and whether clients here
    can reach the addresses that it advertises. What its state topics are called the running kproxy says, unless
    a file or an option does.
    """
    found: list[Check] = []
    for check in _checks(cluster, admin_url, topics):
        found.append(check)
        if output == "text":
            _print(check, is_new_subject=len(found) < 2 or found[-2].subject != check.subject)
    if output == "json":
        click.echo(
            json.dumps(
                {"apiVersion": "kproxy/v1", "kind": "Checks", "items": [_json_of(each) for each in found]},
                indent=2,
            )
        )
    failed = sum(each.outcome is Outcome.FAILED for each in found)
    if failed:
        raise CommandFailed(f"{counted(failed, 'check')} of {len(found)} failed", ExitCode.CHECK_FAILED)
    if output == "text":
        click.echo(f"\nall is {_summary(found)}")


def _summary(found: Sequence[Check]) -> str:
    """Say how many checks there were where none failed, and how many of them have something to say all the same."""
    skipped, warnings = (
        sum(each.outcome is outcome for each in found) for outcome in (Outcome.SKIPPED, Outcome.WARNING)
    )
    but = f", but for {counted(warnings, 'warning')}" if warnings else ""
    left_out = f", {skipped} of which could not be made" if skipped else ""
    return f"well{but}: {counted(len(found), 'check')}{left_out}"


def _json_of(check: Check) -> dict[str, str]:
    return {
        "subject": check.subject,
        "check": check.name,
        "outcome": check.outcome.value,
        "detail": check.detail,
        "remedy": check.remedy,
    }


def _print(check: Check, *, is_new_subject: bool) -> None:
    sign, colour = _SIGNS[check.outcome]
    if is_new_subject:
        click.echo(f"\n{cell_text(check.subject)}")
    click.echo(f"  {click.style(f'{sign:<7}', fg=colour)}  {check.name}: {cell_text(check.detail)}")
    if check.remedy:
        click.echo(f"           -> {cell_text(check.remedy)}")


def _checks(cluster: BackingCluster, admin_url: str, topics: tuple[str, ...]) -> Iterator[Check]:
    from kproxy.clients.checkup.proxy_checks import LookedAt, StateTopicNames, proxy_checks
    from kproxy.clients.checkup.reachability import broker_checks
    from kproxy.clients.cluster.connection import BrokerAddress
    from kproxy.net.deadlines import SystemWallClock

    cluster, said_by = _named_as_running(cluster, admin_url)
    access = cluster.security.access()
    servers = [BrokerAddress(each.host, each.port) for each in cluster.settings.bootstrap_servers]
    for address in servers:
        yield from broker_checks(Subject(str(address)), address, access, remedy=_UNREACHABLE)
    names = StateTopicNames(cluster.settings.state_topic_name, cluster.settings.groups_topic_name)
    if said_by:
        yield Subject("the state log").ok("names", f"{names.state} and {names.groups}, {said_by}")
    looked_at = LookedAt(names, [str(each) for each in cluster.settings.bootstrap_servers])
    yield from _of_the_cluster(cluster, servers, access, topics, looked_at)
    yield from proxy_checks(Subject(f"kproxy at {admin_url}"), admin_url, SystemWallClock().now_ms, looked_at)


def _named_as_running(cluster: BackingCluster, admin_url: str) -> tuple[BackingCluster, str]:
    """Return the cluster with the names that the running kproxy has, and who says so: unless others were given."""
    from kproxy.clients.checkup.proxy_checks import names_of_running

    settings = cluster.settings
    usual = [KEYS[name].default for name in (_STATE_TOPIC, _GROUPS_TOPIC)]
    if [settings.state_topic_name, settings.groups_topic_name] != usual:
        return cluster, ""
    names = names_of_running(admin_url, [str(each) for each in settings.bootstrap_servers])
    if names is None or list(names) == usual:
        return cluster, ""
    group = "" if settings.fleet_group == settings.state_topic_name else settings.fleet_group
    named = replace(settings, state_topic_name=names.state, groups_topic_name=names.groups, fleet_group=group)
    return replace(cluster, settings=named), f"as the kproxy at {admin_url} calls them"


def _of_the_cluster(
    cluster: BackingCluster,
    servers: list["BrokerAddress"],
    access: "ClusterAccess",
    topics: tuple[str, ...],
    looked_at: "LookedAt",
) -> Iterator[Check]:
    """Yield how the cluster is; `looked_at` learns which one it is."""
    from kproxy.clients.checkup.own_rights_checks import own_rights_checks
    from kproxy.clients.cluster.cluster_client import connected_cluster
    from kproxy.clients.cluster.deadline import Deadline

    subject = Subject("the cluster")
    try:
        with connected_cluster(servers, Deadline(_TIMEOUT_MS), access) as client:
            looked_at.cluster_id = client.cluster_id()
            yield from _asked(cluster, client, subject)
            yield from own_rights_checks(Subject("kproxy's rights"), client, _own_names(cluster, topics))
            yield from _advertised(client, servers, access)
    except ClientFailed as failure:
        yield subject.failed(
            "answers", str(failure), "without a broker that answers nothing else can be looked at"
        )


def _asked(cluster: BackingCluster, client: "ClusterClient", subject: Subject) -> Iterator[Check]:
    from kproxy.clients.checkup.cluster_checks import rights_checks, topic_checks, version_checks

    yield from version_checks(subject, client)
    yield from rights_checks(subject, client)
    for wishes in _wishes(cluster):
        yield from topic_checks(Subject(f"topic {wishes.name}"), client, wishes)


def _advertised(
    client: "ClusterClient", servers: list["BrokerAddress"], access: "ClusterAccess"
) -> Iterator[Check]:
    from kproxy.clients.checkup.reachability import broker_checks

    for broker in client.brokers():
        if broker.address not in servers:
            advertised = Subject(f"{broker.address} (advertised by broker {broker.node_id})")
            yield from broker_checks(advertised, broker.address, access, remedy=_UNREACHABLE)


def _own_names(cluster: BackingCluster, topics: tuple[str, ...]) -> "OwnNames":
    from kproxy.clients.checkup.own_rights_checks import OwnNames

    settings = cluster.settings
    return OwnNames(
        (settings.state_topic_name, settings.groups_topic_name),
        f"{settings.state_topic_name}-",
        settings.fleet_group,
        topics,
    )


def _wishes(cluster: BackingCluster) -> Iterator["StateTopicWishes"]:
    from kproxy.application.state_log_plan import state_log_plan
    from kproxy.clients.checkup.cluster_checks import StateTopicWishes

    plan = state_log_plan(cluster.settings).topics
    for name, demands in plan.demands().items():
        yield StateTopicWishes(
            name,
            demands,
            plan.partition_count,
            plan.replication_factor,
            plan.required_acls(),
        )
