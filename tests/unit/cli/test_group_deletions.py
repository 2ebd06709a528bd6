"""`kproxy groups delete` and `delete-offsets` against a kproxy that runs in this process."""

import json

import pytest

from tests.worlds.administered_proxy import PLAIN_GROUP, AdministeredProxy, administered_proxy


def states_of(proxy: AdministeredProxy) -> dict[str, str]:
    lines = proxy.run("list", "--no-headers").stdout.splitlines()
    return {line.split()[0]: line.split()[1] for line in lines}


def test_groups_are_deleted_and_each_is_reported(proxy: AdministeredProxy) -> None:
    # Given
    proxy.empty_group("left", "orders")
    proxy.join("busy", "orders")

    # When
    result = proxy.run("delete", "left", "busy", "-g", "nobody", "-g", PLAIN_GROUP, "--execute")

    # Then
    assert result.exit_code == 6
    assert result.stdout.splitlines() == [
        "GROUP             STATUS",
        "left              Successful",
        "busy              Error: Share group 'busy' is not EMPTY, but Stable.",
        "nobody            Error: Group 'nobody' is not a share group.",
        "a-consumer-group  Error: Group 'a-consumer-group' is not a share group.",
    ]
    assert result.stderr == "Error: 3 groups of 4 could not be changed\n"
    states = states_of(proxy)
    assert "left" not in states
    assert states["busy"] == "Stable"


@pytest.mark.parametrize("dry_run", [[], ["--dry-run"]])
def test_without_execute_it_is_only_checked(proxy: AdministeredProxy, dry_run: list[str]) -> None:
    # Given
    proxy.empty_group("spared", "orders")

    # When
    result = proxy.run("delete", "spared", "--no-headers", *dry_run)

    # Then
    assert (result.exit_code, result.stdout) == (0, "spared  To be deleted\n")
    assert result.stderr == "dry run: nothing was changed; --execute does it\n"
    assert states_of(proxy)["spared"] == "Empty"


@pytest.mark.parametrize(("group_id", "exit_code"), [("nobody", 3), ("with-members", 1)])
def test_a_group_that_cannot_be_deleted_is_a_failure_of_its_kind(
    proxy: AdministeredProxy, group_id: str, exit_code: int
) -> None:
    # Given
    proxy.join("with-members", "orders")

    # When
    result = proxy.run("delete", group_id, "--execute")

    # Then
    assert result.exit_code == exit_code


def test_all_share_groups_are_deleted_and_no_others() -> None:
    with administered_proxy() as proxy:
        # Given
        proxy.empty_group("one", "orders")
        proxy.empty_group("two", "orders")

        # When
        result = proxy.run("delete", "--all-groups", "--execute", "-o", "json")

        # Then
        assert result.exit_code == 0
        assert json.loads(result.stdout) == {
            "apiVersion": "kproxy/v1",
            "kind": "ShareGroups",
            "executed": True,
            "items": [
                {"groupId": "one", "status": "Successful"},
                {"groupId": "two", "status": "Successful"},
            ],
        }
        assert states_of(proxy) == {}


def test_offsets_of_topics_are_deleted_and_each_is_reported(proxy: AdministeredProxy) -> None:
    # Given
    group_id = proxy.empty_group("forgetful", "orders", "payments")

    # When
    result = proxy.run("delete-offsets", group_id, "-t", "orders", "-t", "nothing", "--execute")

    # Then
    assert result.exit_code == 6
    assert result.stdout.splitlines()[:2] == ["TOPIC    STATUS", "orders   Successful"]
    assert result.stdout.splitlines()[2].startswith("nothing  Error: ")
    left = proxy.run("offsets", group_id, "--no-headers").stdout
    assert [line.split()[1] for line in left.splitlines()] == ["payments"]


def test_without_execute_no_offsets_are_deleted(proxy: AdministeredProxy) -> None:
    # Given
    group_id = proxy.empty_group("careful", "orders")

    # When
    result = proxy.run("delete-offsets", group_id, "-t", "orders", "-t", "nothing", "--no-headers")

    # Then
    assert result.exit_code == 6
    assert result.stdout.splitlines() == [
        "orders   To be deleted",
        "nothing  Error: There is no offset information to delete.",
    ]
    assert "dry run: nothing was changed; --execute does it" in result.stderr
    assert len(proxy.run("offsets", group_id, "--no-headers").stdout.splitlines()) == 2


@pytest.mark.parametrize("execution", [[], ["--execute"]])
@pytest.mark.parametrize(("group_id", "exit_code"), [("nobody", 3), ("at-work", 1)])
def test_offsets_of_a_group_that_is_not_there_or_at_work_are_not_deleted(
    proxy: AdministeredProxy, group_id: str, exit_code: int, execution: list[str]
) -> None:
    # Given
    proxy.join("at-work", "orders")

    # When
    result = proxy.run("delete-offsets", group_id, "-t", "orders", *execution)

    # Then
    assert (result.exit_code, result.stdout) == (exit_code, "")
    assert group_id in result.stderr


def test_offsets_are_deleted_of_topics_that_are_named(proxy: AdministeredProxy) -> None:
    # When
    result = proxy.run("delete-offsets", "some", "--execute")

    # Then
    assert result.exit_code == 2
    assert "Missing option '-t' / '--topic'" in result.stderr
