import json
import socket

import pytest
from click.testing import CliRunner

from kproxy.cli.main import cli
from tests.in_memory.scripted_admin_port import an_http_server
from tests.unit.cli.test_fleet_lines import FLEET

STATUS = {
    "apiVersion": "kproxy/v1",
    "kind": "ProxyStatus",
    "asOf": "2026-11-21T12:00:00.000Z",
    "items": [
        {
            "version": "0.1.0",
            "state": "ready",
            "clusterId": "",
            "shareGroups": {"enabled": True, "state": "on", "reason": "served here"},
            "brokers": [
                {"nodeId": 1, "advertised": "127.0.0.1:19101", "upstream": "kafka-1:9092"},
                {"nodeId": 10, "advertised": "127.0.0.1:19110", "upstream": "kafka-10:9092"},
            ],
            "connectionsOpen": 3,
        }
    ],
}


def test_the_status_is_shown_as_facts_and_a_table() -> None:
    # When
    with an_http_server(json.dumps(STATUS)) as url:
        result = CliRunner().invoke(cli, ["status", "--admin-url", url])

    # Then
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "version              0.1.0",
        "state                ready",
        "clusterId            -",
        "shareGroups.enabled  yes",
        "shareGroups.state    on",
        "shareGroups.reason   served here",
        "connectionsOpen      3",
        "",
        "brokers:",
        "nodeId  advertised       upstream",
        "1       127.0.0.1:19101  kafka-1:9092",
        "10      127.0.0.1:19110  kafka-10:9092",
    ]


def test_the_fleet_is_shown_as_facts_and_a_table_of_its_members() -> None:
    # Given
    member = {"name": "kproxy-a", "address": "10.0.0.1:19099", "slotsOwned": 64, "thisProcess": True}
    answer = status_with(brokers=[], fleet={**FLEET, "members": [member]})

    # When
    with an_http_server(json.dumps(answer)) as url:
        result = CliRunner().invoke(cli, ["status", "--admin-url", url])

    # Then
    assert result.output.splitlines()[-9:] == [
        "fleet.group          __kproxy_share_state, 1 member",
        "fleet.name           kproxy-a, settled",
        "fleet.slots          22 of 64 owned (20 ready, 2 loading), 1 wanted from others, 0 unassigned",
        "fleet.moves          40 taken, 18 given up, 0 lost so far",
        "fleet.lease          5.2 s, map epoch 77",
        "",
        "fleet.members:",
        "name      address         slotsOwned  thisProcess",
        "kproxy-a  10.0.0.1:19099  64          yes",
    ]


def test_slots_that_are_not_served_are_a_table_with_the_reason_of_each() -> None:
    # Given
    slot = {"partition": 3, "state": "stopped", "reason": "a record at offset 7 cannot be used"}
    answer = status_with(brokers=[], fleet={**FLEET, "members": [], "troubledSlots": [slot]})

    # When
    with an_http_server(json.dumps(answer)) as url:
        result = CliRunner().invoke(cli, ["status", "--admin-url", url])

    # Then
    assert result.output.splitlines()[-3:] == [
        "fleet.troubledSlots:",
        "partition  state    reason",
        "3          stopped  a record at offset 7 cannot be used",
    ]


def test_the_status_is_shown_as_the_json_that_was_answered() -> None:
    # When
    with an_http_server(json.dumps(STATUS)) as url:
        result = CliRunner().invoke(cli, ["status", "--admin-url", f"{url}/", "-o", "json"])

    # Then
    assert json.loads(result.output) == STATUS


def status_with(**changes: object) -> dict[str, object]:
    return {**STATUS, "items": [{**STATUS["items"][0], **changes}]}  # type: ignore[dict-item]  # as it stands above


@pytest.mark.parametrize("form", ["table", "json"])
@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        (
            {"state": "not-ready", "problems": [{"check": "metadata", "detail": "nobody answers"}]},
            "kproxy is not-ready: metadata: nobody answers",
        ),
        ({"state": "starting"}, "kproxy is starting"),
        ({"state": "draining"}, "kproxy is draining"),
        (
            {"shareGroups": {"enabled": False, "state": "unavailable", "reason": "3 slots are loaded"}},
            "share groups are unavailable: 3 slots are loaded",
        ),
    ],
)
def test_what_is_not_ready_is_shown_and_a_check_that_failed(
    changes: dict[str, object], complaint: str, form: str
) -> None:
    # When
    with an_http_server(json.dumps(status_with(**changes))) as url:
        result = CliRunner().invoke(cli, ["status", "--admin-url", url, "-o", form])

    # Then
    assert result.exit_code == 5
    assert "0.1.0" in result.stdout
    assert result.stderr == f"Error: {complaint}\n"


def test_share_groups_that_are_off_for_good_are_no_failure() -> None:
    # Given
    off = {"enabled": False, "state": "off", "reason": "the backing cluster serves share groups itself"}

    # When
    with an_http_server(json.dumps(status_with(shareGroups=off))) as url:
        result = CliRunner().invoke(cli, ["status", "--admin-url", url])

    # Then
    assert (result.exit_code, result.stderr) == (0, "")


def test_a_proxy_named_in_the_environment_does_not_stand_between() -> None:
    # When
    with an_http_server(json.dumps(STATUS)) as url:
        result = CliRunner().invoke(
            cli, ["status", "--admin-url", url], env={"http_proxy": "http://127.0.0.1:1", "no_proxy": ""}
        )

    # Then
    assert result.exit_code == 0


def test_nobody_there_is_a_failure_to_connect() -> None:
    # Given
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"

    # When
    result = CliRunner().invoke(cli, ["status", "--admin-url", url])

    # Then
    assert result.exit_code == 4
    assert f"cannot reach {url}/api/v1/status: [Errno 111] Connection refused" in result.stderr


@pytest.mark.parametrize(
    ("body", "status", "complaint"),
    [
        ("{}", 404, "answered 404 Not Found"),
        ("<html>", 200, "did not answer with JSON"),
        ("[]", 200, "did not answer as a kproxy does: no object"),
        ("{}", 200, "did not answer as a kproxy does: no items"),
    ],
)
def test_something_else_there_is_a_failure(body: str, status: int, complaint: str) -> None:
    # When
    with an_http_server(body, status) as url:
        result = CliRunner().invoke(cli, ["status", "--admin-url", url])

    # Then
    assert result.exit_code == 1
    assert complaint in result.stderr


@pytest.mark.parametrize("path", ["/foo", "/api/v1", "/?x=1"])
def test_an_address_with_a_path_that_nobody_serves_is_told_what_to_give_instead(path: str) -> None:
    # When
    with an_http_server("404: Not Found", 404) as url:
        result = CliRunner().invoke(cli, ["status", "--admin-url", f"{url}{path}"])

    # Then
    assert result.exit_code == 2
    assert f"kproxy's admin port has nothing under {path!r}: give --admin-url {url}\n" in result.stderr


def test_a_path_that_leads_to_an_admin_port_is_none_of_our_business() -> None:
    # When
    with an_http_server(json.dumps(STATUS)) as url:
        result = CliRunner().invoke(cli, ["status", "--admin-url", f"{url}/kproxy-1"])

    # Then
    assert result.exit_code == 0


def test_another_server_at_that_address_is_told_from_a_kproxy() -> None:
    # When
    with an_http_server("404: Not Found", 404) as url:
        result = CliRunner().invoke(cli, ["status", "--admin-url", url])

    # Then
    assert result.exit_code == 1
    assert "that is not the admin port of a kproxy" in result.stderr
    assert "give --admin-url http://HOST:PORT with the kproxy.admin.listener" in result.stderr


@pytest.mark.parametrize("url", ["127.0.0.1:9644", "file:///etc/hostname", "http://"])
def test_an_address_that_is_no_url_is_wrong_usage(url: str) -> None:
    # When
    result = CliRunner().invoke(cli, ["status", "--admin-url", url])

    # Then
    assert result.exit_code == 2
    assert "expected http://HOST:PORT" in result.stderr


def test_the_names_of_the_state_topics_and_where_they_are_are_shown() -> None:
    # Given
    cluster = {"bootstrapServers": "kafka-1:9092", "stateTopic": "states", "groupsTopic": "groups"}
    answer = {**STATUS, "items": [{**STATUS["items"][0], "backingCluster": cluster}]}  # type: ignore[dict-item]

    # When
    with an_http_server(json.dumps(answer)) as url:
        result = CliRunner().invoke(cli, ["status", "--admin-url", url])

    # Then
    assert [line.split() for line in result.stdout.splitlines() if line.startswith("backing")] == [
        ["backingCluster.bootstrapServers", "kafka-1:9092"],
        ["backingCluster.stateTopic", "states"],
        ["backingCluster.groupsTopic", "groups"],
    ]


def test_what_has_to_be_looked_at_is_a_warning_and_does_not_change_the_exit_code() -> None:
    # Given
    warning = {
        "check": "slots_without_leader",
        "detail": "1 slot of 2 cannot be written to: broker 1 is down",
    }
    item = {**STATUS["items"][0], "warnings": [warning]}  # type: ignore[dict-item]  # a literal of mixed types

    # When
    with an_http_server(json.dumps({**STATUS, "items": [item]})) as url:
        result = CliRunner().invoke(cli, ["status", "--admin-url", url])

    # Then
    assert result.exit_code == 0
    assert result.stderr == (
        "Warning: slots_without_leader: 1 slot of 2 cannot be written to: broker 1 is down\n"
    )
