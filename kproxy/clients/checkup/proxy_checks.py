"""Whether a running kproxy is well, and whether clients at this place can reach what it advertises."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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


@dataclass(slots=True)
class LookedAt:
    """The state log that other checks were about: its topics, and the cluster, reached by `servers`, each HOST:PORT."""

    names: StateTopicNames
    servers: Sequence[str]
    cluster_id: str = ""
    """Empty while no broker has told it."""

    @property
    def servers_text(self) -> str:
        """The servers, as `-b` takes them."""
        return ",".join(self.servers)


def names_of_running(admin_url: str, servers: Collection[str]) -> StateTopicNames | None:
    """Return what the kproxy behind an admin port calls its state topics.

    None unless it answers, has share groups, and was given one of `servers`, each HOST:PORT, for its cluster.
    """
    try:
        (status,) = items_of(answer_of(admin_url, "status"))
    except (ClientFailed, ValueError):
        return None
    theirs = _state_log_of(status)
    is_the_same = not set(servers).isdisjoint(theirs.servers)
    has_share_groups = (status.get("shareGroups") or {}).get("state") != "off"
    return theirs.names if all(theirs.names) and is_the_same and has_share_groups else None


def proxy_checks(
    subject: Subject, admin_url: str, now_ms: Callable[[], int], looked_at: LookedAt
) -> Iterator[Check]:
    """Yield how the kproxy behind an admin port is. `now_ms` counts from the epoch, by this host's clock.

    The state topics of this kproxy may not be those that were `looked_at`.
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
        theirs = _state_log_of(status)
        if all(theirs.names):
            yield _state_topics_check(subject, theirs, looked_at)
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


def _state_log_of(status: Mapping[str, Any]) -> LookedAt:
    """Return which state log a kproxy says that it has; empty names where it says nothing."""
    backing = status.get("backingCluster") or {}
    return LookedAt(
        StateTopicNames(backing.get("stateTopic") or "", backing.get("groupsTopic") or ""),
        [each for each in str(backing.get("bootstrapServers") or "").split(",") if each],
        str(status.get("clusterId") or ""),
    )


def _state_topics_check(subject: Subject, theirs: LookedAt, looked_at: LookedAt) -> Check:
    """Tell whether the state topics of a kproxy are those that were looked at: by name, and by cluster."""
    is_known = bool(theirs.cluster_id and looked_at.cluster_id)
    if is_known and theirs.cluster_id != looked_at.cluster_id:
        return _of_another_cluster(subject, theirs, looked_at)
    if theirs.names != looked_at.names:
        return _of_other_names(subject, theirs, looked_at)
    state, groups = theirs.names
    if is_known:
        return subject.ok("state topics", f"{state} and {groups}, which were looked at above")
    if not set(theirs.servers).isdisjoint(looked_at.servers):
        return subject.ok("state topics", f"{state} and {groups}, the names of above, on the same brokers")
    return subject.warning(
        "state topics",
        f"{state} and {groups}, the names of above; whether the cluster is the same is not known: "
        f"its is on {theirs.servers_text}, the one above on {looked_at.servers_text}",
        "look again when both answer: kproxy and brokers tell the id of their cluster then",
    )


def _of_another_cluster(subject: Subject, theirs: LookedAt, looked_at: LookedAt) -> Check:
    options = join([*(["-b", theirs.servers_text] if theirs.servers else []), *_naming(theirs.names)])
    return subject.warning(
        "state topics",
        f"its are {theirs.names.state} and {theirs.names.groups} on {theirs.servers_text}, "
        f"which is cluster {theirs.cluster_id}; "
        f"looked at above was cluster {looked_at.cluster_id} on {looked_at.servers_text}",
        f"what is said above is not about this kproxy: run doctor with {options}, or with its file by -c; "
        "or ask a kproxy in front of the cluster above, by --admin-url",
    )


def _of_other_names(subject: Subject, theirs: LookedAt, looked_at: LookedAt) -> Check:
    return subject.warning(
        "state topics",
        f"its are {theirs.names.state} and {theirs.names.groups} on {theirs.servers_text}; "
        f"looked at above were {looked_at.names.state} and {looked_at.names.groups}",
        f"what is said of these above is not about this kproxy: run doctor with {join(_naming(theirs.names))}, "
        "or with its file by -c",
    )


def _naming(names: StateTopicNames) -> list[str]:
    """Return the options that name state topics."""
    return ["-X", f"kproxy.state.topic.name={names.state}", "-X", f"kproxy.groups.topic.name={names.groups}"]


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
