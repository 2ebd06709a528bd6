"""`kproxy sessions describe` against a real admin port."""

import json

from click.testing import CliRunner, Result

from kproxy.cli.main import cli
from tests.in_memory.inspectable import ORDERS, PAYMENTS, Inspectable, acquire, serving


def run(*arguments: str, inspectable: Inspectable | None = None) -> Result:
    with serving((inspectable or a_member_at_work()).server()) as url:
        return CliRunner().invoke(cli, ["sessions", "describe", *arguments, "--admin-url", url])


def a_member_at_work() -> Inspectable:
    """Let alice have sessions with two brokers, and hold records through the first one."""
    inspectable = Inspectable()
    inspectable.join("alice")
    inspectable.join("bob")
    inspectable.open_session("alice", (ORDERS, 0), (ORDERS, 1), principal="User:anna")
    inspectable.open_session("alice", (PAYMENTS, 4), node_id=2, principal="User:anna")
    orders = inspectable.share_partition()
    acquire(orders, "alice", 100, 102)
    acquire(orders, "bob", 103, 103)
    return inspectable


def test_all_sessions_of_a_member_are_shown_with_what_is_in_flight_of_each() -> None:
    # When
    result = run("-g", "workers", "-m", "alice")

    # Then
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "alice of workers with broker 1",
        "  client id:   client-1",
        "  address:     10.0.0.7",
        "  principal:   User:anna",
        "  connection:  1",
        "  next epoch:  1",
        "  idle:        1.0 s",
        "  heartbeat:   1.0s ago",
        "  partitions:  2: orders:0,1",
        "  in flight:   3 records",
        "               orders-0: 100 to 102, attempt 1 of 5, lock ends in 29.0 s",
        "",
        "alice of workers with broker 2",
        "  client id:   client-1",
        "  address:     10.0.0.7",
        "  principal:   User:anna",
        "  connection:  2",
        "  next epoch:  1",
        "  idle:        1.0 s",
        "  heartbeat:   1.0s ago",
        "  partitions:  1: dG9waWMtaWQtcGF5bWVudA:4",
        "  in flight:   nothing",
    ]


def test_one_session_is_shown_as_json_with_its_runs() -> None:
    # When
    result = run("-g", "workers", "-m", "alice", "--node", "1", "-o", "json")

    # Then
    told = json.loads(result.stdout)
    [session] = told["items"]
    assert told["kind"] == "ShareSessionDescriptions"
    assert (session["nodeId"], session["principal"], session["clientHost"]) == (1, "User:anna", "/10.0.0.7")
    assert [(each["firstOffset"], each["memberId"]) for each in session["inFlight"]] == [(100, "alice")]


def test_a_member_without_a_session_is_not_found_and_says_where_to_look() -> None:
    # When
    result = run("-g", "workers", "-m", "bob")

    # Then
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == (
        "Error: member 'bob' of share group 'workers' has no share session: it fetches from no broker; "
        "what it still holds: kproxy in-flight list -g workers -m bob\n"
    )


def test_a_broker_with_which_there_is_no_session_is_not_found_with_those_that_there_are() -> None:
    # When
    result = run("-g", "workers", "-m", "alice", "--node", "3")

    # Then
    assert result.exit_code == 3
    assert result.stderr == "Error: member 'alice' has no share session with broker 3; it has one with 1, 2\n"


def test_a_member_that_nobody_knows_is_not_found() -> None:
    # When
    result = run("-g", "workers", "-m", "carol")

    # Then
    assert result.exit_code == 3
    assert "there is no member 'carol' in share group 'workers'" in result.stderr


def test_what_may_not_be_the_truth_is_shown_and_said_not_to_be() -> None:
    # Given
    inspectable = a_member_at_work()
    inspectable.unavailable = "another kproxy took the state log over"

    # When
    result = run("-g", "workers", "-m", "alice", inspectable=inspectable)

    # Then
    assert result.exit_code == 1
    assert "alice of workers with broker 1" in result.stdout
    assert result.stderr.endswith("not the whole truth: another kproxy took the state log over\n")
