"""`kproxy groups list`, `describe`, `members` and `offsets` with `-b`, against a kproxy that runs in this process."""

import json
from dataclasses import dataclass

import pytest
from click.testing import CliRunner

from kproxy.cli.cluster_groups import answer, item_of
from kproxy.cli.main import cli
from tests.worlds.administered_proxy import ORDERS, PLAIN_GROUP, AdministeredProxy, administered_proxy


@dataclass(frozen=True)
class Inner:
    node_id: int


@dataclass(frozen=True)
class Outer:
    group_id: str
    inner_parts: tuple[Inner, ...]
    one_part: Inner


def test_an_item_has_the_names_that_the_admin_port_gives_it() -> None:
    # When
    item = item_of(Outer("workers", (Inner(1), Inner(2)), Inner(3)), memberCount=0)

    # Then
    assert item == {
        "memberCount": 0,
        "groupId": "workers",
        "innerParts": [{"nodeId": 1}, {"nodeId": 2}],
        "onePart": {"nodeId": 3},
    }


def test_an_answer_has_the_form_of_the_admin_port() -> None:
    assert answer("ShareGroups", [], executed=True) == {
        "apiVersion": "kproxy/v1",
        "kind": "ShareGroups",
        "executed": True,
        "items": [],
    }


def test_groups_are_listed_as_kafkas_own_tool_lists_them() -> None:
    with administered_proxy() as proxy:
        # Given
        proxy.join("workers", "orders")
        proxy.empty_group("auditors", "orders")

        # When
        results = [proxy.run("list", *options) for options in ([], ["--state", "empty"], ["-o", "wide"])]

        # Then
        assert [result.exit_code for result in results] == [0, 0, 0]
        assert results[0].stdout.splitlines() == [
            "GROUP     STATE",
            "auditors  Empty",
            "workers   Stable",
        ]
        assert results[1].stdout.splitlines() == ["GROUP     STATE", "auditors  Empty"]
        assert results[2].stdout.splitlines()[2].split() == [
            "workers",
            "Stable",
            proxy.bootstrap_server,
            "(1)",
        ]
        assert json.loads(proxy.run("list", "-o", "json").stdout)["items"][1]["groupId"] == "workers"


def test_no_groups_are_an_empty_list() -> None:
    with administered_proxy() as proxy:
        # When
        result = proxy.run("list", "--no-headers")

        # Then
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_share_partitions_are_described_with_lag(proxy: AdministeredProxy) -> None:
    # Given
    proxy.append(ORDERS, 0, 10)
    group_id = proxy.empty_group("behind", "orders")
    proxy.run("reset-offsets", group_id, "-t", "orders:0", "--to-earliest", "--execute")

    # When
    plain, wide = proxy.run("describe", group_id), proxy.run("offsets", group_id, "-o", "wide")

    # Then
    assert plain.stdout.splitlines() == [
        "GROUP   TOPIC   PARTITION  START-OFFSET  LAG",
        "behind  orders  0          0             10",
        "behind  orders  1          -             -",
    ]
    assert wide.stdout.splitlines() == [
        "GROUP   TOPIC   PARTITION  LEADER-EPOCH  START-OFFSET  LAG",
        "behind  orders  0          0             0             10",
        "behind  orders  1          -             -             -",
    ]
    assert plain.stderr == wide.stderr == ""


def test_members_are_described_with_what_they_are_assigned(proxy: AdministeredProxy) -> None:
    # Given
    proxy.join("staffed", "orders", "payments")

    # When
    plain, wide = proxy.run("describe", "staffed", "--members"), proxy.run("members", "staffed", "-o", "wide")

    # Then
    assert plain.stdout.splitlines() == [
        "GROUP    CONSUMER-ID  HOST        CLIENT-ID  #PARTITIONS  ASSIGNMENT",
        "staffed  alice        /127.0.0.1  client-1   3            orders:0,1;payments:0",
    ]
    assert wide.stdout.splitlines()[0].split()[5:] == ["MEMBER-EPOCH", "ASSIGNMENT"]


def test_the_state_names_the_coordinator(proxy: AdministeredProxy) -> None:
    # Given
    proxy.join("coordinated", "orders")

    # When
    result = proxy.run("describe", "coordinated", "--state", "-o", "wide")

    # Then
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["GROUP", "COORDINATOR", "(ID)", "STATE", "GROUP-EPOCH", "ASSIGNMENT-EPOCH", "#MEMBERS"],
        ["coordinated", proxy.bootstrap_server, "(1)", "Stable", "1", "1", "1"],
    ]


def test_what_there_is_nothing_to_show_of_is_said_beside_the_table(proxy: AdministeredProxy) -> None:
    # Given
    group_id = proxy.empty_group("deserted", "orders")
    proxy.run("delete-offsets", group_id, "-t", "orders", "--execute")

    # When
    members, offsets = (proxy.run(command, group_id, "--no-headers") for command in ("members", "offsets"))

    # Then
    assert (members.stdout, members.stderr) == ("", "Share group 'deserted' has no active members.\n")
    assert (offsets.stdout, offsets.stderr) == ("", "Share group 'deserted' has no offset information.\n")


def test_a_group_that_is_missing_keeps_nobody_from_seeing_the_others(proxy: AdministeredProxy) -> None:
    # Given
    proxy.join("present", "orders")

    # When
    result = proxy.run("describe", "nobody", "present", PLAIN_GROUP, "--state", "--no-headers")

    # Then
    assert result.exit_code == 3
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["present"]
    assert "share group 'nobody' cannot be described" in result.stderr
    assert f"share group '{PLAIN_GROUP}' cannot be described" in result.stderr


def test_an_unknown_group_is_not_found(proxy: AdministeredProxy) -> None:
    # When
    result = proxy.run("describe", "nobody")

    # Then
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == (
        "Error: share group 'nobody' cannot be described: Group nobody not found. (GROUP_ID_NOT_FOUND)\n"
    )


def test_several_groups_are_one_answer_in_json(proxy: AdministeredProxy) -> None:
    # Given
    proxy.join("first", "orders")
    proxy.join("second", "payments")

    # When
    shown = json.loads(proxy.run("describe", "first", "second", "-o", "json").stdout)

    # Then
    assert shown["kind"] == "ShareGroup"
    assert [group["groupId"] for group in shown["items"]] == ["first", "second"]
    assert [len(group["sharePartitions"]) for group in shown["items"]] == [2, 1]
    assert shown["items"][0]["members"][0]["assignment"][0]["partitions"] == [0, 1]


def test_nobody_there_is_a_failure_to_connect() -> None:
    # When
    result = CliRunner().invoke(cli, ["groups", "list", "-b", "127.0.0.1:1"])

    # Then
    assert result.exit_code == 4
    assert result.stderr == "Error: cannot reach 127.0.0.1:1: Connection refused\n"


@pytest.mark.parametrize("command", [["list"], ["members", "workers"]])
def test_the_admin_port_and_a_cluster_are_not_asked_both(command: list[str]) -> None:
    # When
    result = CliRunner().invoke(cli, ["groups", *command, "-b", "x:1", "--admin-url", "http://x:2"])

    # Then
    assert result.exit_code == 2
    assert "give --admin-url or --bootstrap-server, not both" in result.stderr
