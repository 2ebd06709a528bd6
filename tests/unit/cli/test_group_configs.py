"""`kproxy groups configs` against a kproxy that runs in this process."""

import json

import pytest

from tests.worlds.administered_proxy import AdministeredProxy

RESET = "share.auto.offset.reset"


def value_of(proxy: AdministeredProxy, group_id: str, name: str) -> list[str]:
    """Return the value and its source."""
    lines = [line.split() for line in proxy.run("configs", group_id, "--no-headers").stdout.splitlines()]
    return next(line[2:] for line in lines if line[1] == name)


def test_configurations_are_listed_with_their_sources(proxy: AdministeredProxy) -> None:
    # When
    result = proxy.run("configs", "anybody")

    # Then
    assert result.exit_code == 0
    assert result.stdout.splitlines()[:3] == [
        "GROUP    NAME                              VALUE             SOURCE",
        "anybody  share.assignment.interval.ms      1000              DEFAULT_CONFIG",
        "anybody  share.auto.offset.reset           latest            DEFAULT_CONFIG",
    ]


def test_configurations_are_set_and_deleted(proxy: AdministeredProxy) -> None:
    # When
    result = proxy.run(
        *(
            "configs",
            "workers",
            "--set",
            f"{RESET}=by_duration:PT1H",
            "--set",
            "share.isolation.level=read_committed",
        ),
        *("--delete", "share.session.timeout.ms", "--execute"),
    )

    # Then
    assert result.exit_code == 0
    assert result.stderr == ""
    assert result.stdout.splitlines() == [
        "GROUP    NAME                      CHANGE  NEW-VALUE",
        "workers  share.auto.offset.reset   set     by_duration:PT1H",
        "workers  share.isolation.level     set     read_committed",
        "workers  share.session.timeout.ms  delete  -",
    ]
    assert value_of(proxy, "workers", RESET) == ["by_duration:PT1H", "DYNAMIC_GROUP_CONFIG"]


def test_without_execute_the_cluster_only_says_whether_it_would(proxy: AdministeredProxy) -> None:
    # When
    taken = proxy.run("configs", "dry", "--set", f"{RESET}=earliest")
    refused = proxy.run("configs", "dry", "--set", f"{RESET}=sometimes")

    # Then
    assert (taken.exit_code, taken.stderr) == (0, "dry run: nothing was changed; --execute does it\n")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "'sometimes' is none of latest, earliest" in refused.stderr
    assert value_of(proxy, "dry", RESET) == ["latest", "DEFAULT_CONFIG"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--execute"], "--execute goes with --set or --delete"),
        (["--set", "share.auto.offset.reset"], "expected KEY=VALUE"),
        (["--set", "=earliest"], "expected KEY=VALUE"),
        (["--set", f"{RESET}=latest", "--delete", RESET], f"{RESET} is set and deleted: give one of both"),
    ],
)
def test_a_command_that_contradicts_itself_is_wrong_usage(
    proxy: AdministeredProxy, arguments: list[str], said: str
) -> None:
    # When
    result = proxy.run("configs", "some", *arguments)

    # Then
    assert result.exit_code == 2
    assert said in result.stderr


def test_json_has_what_the_table_has(proxy: AdministeredProxy) -> None:
    # When
    shown = json.loads(proxy.run("configs", "scripted", "-o", "json").stdout)
    changed = json.loads(proxy.run("configs", "scripted", "--delete", RESET, "-o", "json").stdout)

    # Then
    assert shown["kind"] == "GroupConfigs"
    assert {"groupId": "scripted", "name": RESET, "value": "latest", "source": "DEFAULT_CONFIG"} in shown[
        "items"
    ]
    assert changed["executed"] is False
    assert changed["items"] == [{"groupId": "scripted", "name": RESET, "change": "delete", "newValue": None}]
