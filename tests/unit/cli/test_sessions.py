"""`kproxy sessions` against a real admin port."""

import json

import pytest
from click.testing import CliRunner, Result

from kproxy.cli.main import cli
from tests.in_memory.inspectable import ORDERS, PAYMENTS, Inspectable, serving


def run(inspectable: Inspectable, *arguments: str) -> Result:
    with serving(inspectable.server()) as url:
        return CliRunner().invoke(cli, ["sessions", "list", *arguments, "--admin-url", url])


def two_sessions() -> Inspectable:
    inspectable = Inspectable()
    inspectable.join("alice")
    inspectable.open_session("alice", (ORDERS, 0), (ORDERS, 1), (PAYMENTS, 4))
    inspectable.open_session("bob", (ORDERS, 0), group_id="auditors", node_id=2)
    return inspectable


def test_sessions_are_listed() -> None:
    # When
    result = run(two_sessions())

    # Then
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "GROUP     CONSUMER-ID  CLIENT-ID  NODE  CONNECTION  NEXT-EPOCH  #PARTITIONS  IDLE-MS  HEARTBEAT-AGE",
        "auditors  bob          -          2     2           1           1            1000     -",
        "workers   alice        client-1   1     1           1           3            1000     1.0s",
    ]


def test_the_wide_list_names_the_partitions() -> None:
    # When
    result = run(two_sessions(), "-o", "wide", "--no-headers", "--group", "workers")

    # Then
    assert result.stdout.split() == [
        *("workers", "alice", "client-1", "1", "1", "1", "3", "1000", "1.0s"),
        "orders:0,1;dG9waWMtaWQtcGF5bWVudA:4",
    ]


def test_they_can_be_narrowed_to_a_member() -> None:
    # When
    result = run(two_sessions(), "-m", "bob", "-o", "json")

    # Then
    assert [session["memberId"] for session in json.loads(result.stdout)["items"]] == ["bob"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            ("-g", "nobody"),
            "there is no share group 'nobody': kproxy groups list (/api/v1/groups) shows those that are there",
        ),
        (
            ("-g", "workers", "-m", "bob"),
            (
                "there is no member 'bob' in share group 'workers': "
                "kproxy groups describe workers --members shows those that are there"
            ),
        ),
    ],
)
def test_a_name_that_nobody_knows_is_not_found(options: tuple[str, ...], complaint: str) -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice")

    # When
    result = run(inspectable, *options)

    # Then
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == f"Error: {complaint}\n"


def test_a_known_group_without_any_is_an_empty_table() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice")

    # When
    result = run(inspectable, "-g", "workers", "--no-headers")

    # Then
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
