"""A running kproxy is asked how it is, and its advertised addresses are tried from here."""

import socket
from dataclasses import replace
from typing import Any

import pytest

from kproxy.clients.checkup.checks import Check, Outcome, Subject
from kproxy.clients.checkup.proxy_checks import LookedAt, StateTopicNames, names_of_running, proxy_checks
from tests.in_memory.scripted_admin_port import admin_port

SUBJECT = Subject("kproxy")
ABOVE = LookedAt(StateTopicNames("states", "groups"), ["broker1:9092"], cluster_id="cluster-1")
NOON_MS = 1_795_262_400_000


def outcomes(now_ms: int = NOON_MS, **status: Any) -> dict[str, Outcome]:
    with admin_port(**status) as url:
        return {check.name: check.outcome for check in proxy_checks(SUBJECT, url, lambda: now_ms, ABOVE)}


def test_one_that_is_ready_and_can_be_reached_is_well() -> None:
    # Given
    with socket.create_server(("127.0.0.1", 0)) as listener:
        broker = {"nodeId": 1, "advertised": f"127.0.0.1:{listener.getsockname()[1]}"}

        # When
        found = outcomes(shareGroups={"state": "on"}, brokers=[broker])

    # Then
    assert found == dict.fromkeys(["clock", "state", "share groups", "name", "connection"], Outcome.OK)


def test_an_advertised_address_that_cannot_be_reached_is_told_with_the_key_to_set() -> None:
    # Given
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    # When
    with admin_port(brokers=[{"nodeId": 1, "advertised": f"127.0.0.1:{port}"}]) as url:
        last = list(proxy_checks(SUBJECT, url, lambda: NOON_MS, ABOVE))[-1]

    # Then
    assert (last.outcome, "kproxy.advertised.host" in last.remedy) == (Outcome.FAILED, True)
    assert last.subject == f"127.0.0.1:{port} (advertised for broker 1)"


def test_an_advertised_name_that_is_not_known_here_is_told_with_the_key_to_set() -> None:
    # When
    with admin_port(brokers=[{"nodeId": 1, "advertised": "kproxy.invalid:19101"}]) as url:
        last = list(proxy_checks(SUBJECT, url, lambda: NOON_MS, ABOVE))[-1]

    # Then
    assert (last.outcome, last.name) == (Outcome.FAILED, "name")
    assert "set kproxy.advertised.host to a name or address that they know" in last.remedy


def test_clocks_that_differ_are_told() -> None:
    assert outcomes(NOON_MS - 5_000)["clock"] is Outcome.WARNING


def test_what_is_not_ready_or_not_served_fails() -> None:
    # When
    found = outcomes(state="not-ready", shareGroups={"state": "unavailable", "reason": "no topic"})

    # Then
    assert (found["state"], found["share groups"]) == (Outcome.FAILED, Outcome.FAILED)


def test_where_no_kproxy_runs_nothing_is_said_to_be_wrong() -> None:
    # When
    checks = list(proxy_checks(SUBJECT, "http://127.0.0.1:1", lambda: NOON_MS, ABOVE))

    # Then
    assert [check.outcome for check in checks] == [Outcome.SKIPPED]


def test_state_topics_of_other_names_than_those_looked_at_are_told_with_the_keys_to_set() -> None:
    # When
    others = {"stateTopic": "s-1", "groupsTopic": "g-1", "bootstrapServers": "kafka:9092"}
    with admin_port(backingCluster=others) as url:
        last = list(proxy_checks(SUBJECT, url, lambda: NOON_MS, ABOVE))[-1]

    # Then
    assert (last.outcome, last.name) == (Outcome.WARNING, "state topics")
    assert last.detail == "its are s-1 and g-1 on kafka:9092; looked at above were states and groups"
    assert "run doctor with -X kproxy.state.topic.name=s-1 -X kproxy.groups.topic.name=g-1" in last.remedy


def check_of_same_names(looked_at: LookedAt, cluster_id: str) -> Check:
    """What is said of the state topics of a kproxy in front of kafka:9092, which have the names of those above."""
    same = {"stateTopic": "states", "groupsTopic": "groups", "bootstrapServers": "kafka:9092"}
    with admin_port(clusterId=cluster_id, backingCluster=same) as url:
        checks = list(proxy_checks(SUBJECT, url, lambda: NOON_MS, looked_at))
    (found,) = [each for each in checks if each.name == "state topics"]
    return found


def test_state_topics_of_the_same_names_in_the_same_cluster_are_well() -> None:
    # When
    found = check_of_same_names(ABOVE, "cluster-1")

    # Then
    assert (found.outcome, found.detail) == (
        Outcome.OK,
        "states and groups, which were looked at above",
    )


def test_state_topics_of_the_same_names_in_another_cluster_are_others() -> None:
    # When
    found = check_of_same_names(ABOVE, "cluster-2")

    # Then
    assert found.outcome is Outcome.WARNING
    assert found.detail == (
        "its are states and groups on kafka:9092, which is cluster cluster-2; "
        "looked at above was cluster cluster-1 on broker1:9092"
    )
    assert "run doctor with -b kafka:9092 -X kproxy.state.topic.name=states" in found.remedy


@pytest.mark.parametrize(("above", "cluster_id"), [(ABOVE, ""), (replace(ABOVE, cluster_id=""), "cluster-2")])
def test_where_a_cluster_is_not_known_state_topics_of_the_same_names_may_be_others(
    above: LookedAt, cluster_id: str
) -> None:
    # When
    found = check_of_same_names(above, cluster_id)

    # Then
    assert found.outcome is Outcome.WARNING
    assert found.detail == (
        "states and groups, the names of above; whether the cluster is the same is not known: "
        "its is on kafka:9092, the one above on broker1:9092"
    )
    assert found.remedy.startswith("look again when both answer")


def test_where_a_cluster_is_not_known_the_same_brokers_are_taken_for_the_same_one() -> None:
    # When
    found = check_of_same_names(replace(ABOVE, servers=["broker9:9092", "kafka:9092"]), "")

    # Then
    assert (found.outcome, found.detail) == (
        Outcome.OK,
        "states and groups, the names of above, on the same brokers",
    )


def test_the_state_topics_of_a_kproxy_without_share_groups_do_not_matter() -> None:
    others = {"stateTopic": "s-1", "groupsTopic": "g-1", "bootstrapServers": "kafka:9092"}
    assert "state topics" not in outcomes(shareGroups={"state": "off"}, backingCluster=others)


THERE = {"stateTopic": "s-1", "groupsTopic": "g-1", "bootstrapServers": "broker1:9092,broker2:9092"}


@pytest.mark.parametrize(
    ("status", "names"),
    [
        ({"shareGroups": {"state": "on"}, "backingCluster": THERE}, StateTopicNames("s-1", "g-1")),
        ({"shareGroups": {"state": "off"}, "backingCluster": THERE}, None),
        ({"backingCluster": {**THERE, "bootstrapServers": "elsewhere:9092"}}, None),
        ({"backingCluster": {**THERE, "stateTopic": ""}}, None),
        ({}, None),
    ],
)
def test_the_names_of_a_running_one_are_known_where_it_serves_share_groups_of_that_cluster(
    status: dict[str, Any], names: StateTopicNames | None
) -> None:
    with admin_port(**status) as url:
        assert names_of_running(url, ["broker2:9092", "broker3:9092"]) == names


def test_where_no_kproxy_runs_no_names_are_known() -> None:
    assert names_of_running("http://127.0.0.1:1", ["broker1:9092"]) is None
