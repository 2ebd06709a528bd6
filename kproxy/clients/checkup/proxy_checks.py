"""Whether a running kproxy is well, and whether clients at this place can reach what it advertises."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from datetime import datetime
from shlex import join
from typing import Any, Final, NamedTuple

from kproxy.clients.admin_port import answer_of, items_of
from kproxy.clients.checkup.checks import Check, Outcome, Subject
from kproxy.clients.checkup.reachability import connection_check, name_check
from kproxy.clients.cluster.connection import BrokerAddress
from kproxy.clients.failures import ClientFailed

_MOST_SKEW_MS: Final = 1_000


class StateTopicNames(NamedTuple):
    """What the two topics of the state log are called."""

    state: str
    groups: str


def names_of_running(admin_url: str, servers: Collection[str]) -> StateTopicNames | None:
    """Return what the kproxy behind an admin port calls its state topics.

    None unless it answers, has share groups, and was given one of `servers`, each HOST:PORT, for its cluster.
    """
    try:
        (status,) = items_of(answer_of(admin_url, "status"))
    except (ClientFailed, ValueError):
        return None
    backing = status.get("backingCluster") or {}
    names = StateTopicNames(backing.get("stateTopic") or "", backing.get("groupsTopic") or "")
    is_the_same = not set(servers).isdisjoint(str(backing.get("bootstrapServers") or "").split(","))
    has_share_groups = (status.get("shareGroups") or {}).get("state") != "off"
    return names if all(names) and is_the_same and has_share_groups else None


def proxy_checks(
    subject: Subject, admin_url: str, now_ms: Callable[[], int], looked_at: StateTopicNames
) -> Iterator[Check]:
    """Yield how the kproxy behind an admin port is. `now_ms` counts from the epoch, by this host's clock.

    `looked_at` are the state topics that other checks were about, which may not be those of this kproxy.
    """
    try:
        answer = answer_of(admin_url, "status")
        (status,) = items_of(answer)
    except ClientFailed as failure:
        yield subject.skipped("admin port", str(failure))
        return
    yield _clock_check(subject, str(answer.get("asOf", "")), now_ms())
    problems = "; ".join(f"{each['check']}: {each['detail']}" for each in status.get("problems") or [])
    if status.get("state") == "ready":
        yield subject.ok("state", "ready")
    else:
        yield subject.failed("state", f"{status.get('state')}: {problems}", "what it says is what to mend")
    yield _share_groups_check(subject, status.get("shareGroups") or {})
    if (status.get("shareGroups") or {}).get("state") != "off":
        yield from _names_checks(subject, status.get("backingCluster") or {}, looked_at)
    for broker in status.get("brokers") or []:
        yield from _advertised_checks(broker)


def _clock_check(subject: Subject, as_of: str, now_ms: int) -> Check:
    try:
        theirs_ms = int(datetime.fromisoformat(as_of).timestamp() * 1000)
    except ValueError:
        return subject.skipped("clock", f"it says {as_of!r}")
    skew_ms = theirs_ms - now_ms
    if abs(skew_ms) > _MOST_SKEW_MS:
        ahead = "ahead of" if skew_ms > 0 else "behind"
        return subject.warning(
            "clock", f"{abs(skew_ms) / 1000:.1f} s {ahead} this host's", "let both keep time (chrony, ntpd)"
        )
    return subject.ok("clock", f"within {_MOST_SKEW_MS} ms of this host's")


def _share_groups_check(subject: Subject, share_groups: dict[str, Any]) -> Check:
    state, reason = share_groups.get("state", "unknown"), share_groups.get("reason", "")
    if state == "unavailable":
        return subject.failed("share groups", f"unavailable: {reason}", "what it says is what to mend")
    return subject.ok("share groups", f"{state}: {reason}" if reason else str(state))


def _names_checks(subject: Subject, backing: dict[str, Any], looked_at: StateTopicNames) -> Iterator[Check]:
    state, groups = backing.get("stateTopic"), backing.get("groupsTopic")
    if not state or not groups:
        return
    if (state, groups) == looked_at:
        yield subject.ok("state topics", f"{state} and {groups}, which were looked at above")
        return
    names = join(["-X", f"kproxy.state.topic.name={state}", "-X", f"kproxy.groups.topic.name={groups}"])
    yield subject.warning(
        "state topics",
        f"its are {state} and {groups} on {backing.get('bootstrapServers')}; "
        f"looked at above were {looked_at.state} and {looked_at.groups}",
        f"what is said of these above is not about this kproxy: run doctor with {names}, or with its file by -c",
    )


def _advertised_checks(broker: dict[str, Any]) -> Iterator[Check]:
    host, _, port = str(broker["advertised"]).rpartition(":")
    address = BrokerAddress(host.strip("[]"), int(port))
    subject = Subject(f"{broker['advertised']} (advertised for broker {broker['nodeId']})")
    name = name_check(subject, address)
    if name.outcome is Outcome.FAILED:
        remedy = "clients here cannot use it: set kproxy.advertised.host to a name or address that they know"
        yield replace(name, remedy=remedy)
    else:
        yield name
        yield connection_check(
            subject,
            address,
            remedy="clients here cannot use it: set kproxy.advertised.host to what they reach, and open the port",
        )
