"""`kproxy in-flight release|accept|archive` and `sessions end` against a real admin port."""

import asyncio
import json
from collections.abc import Sequence

import pytest
from click.testing import CliRunner, Result

from kproxy.cli import in_flight_actions
from kproxy.cli.main import cli
from kproxy.statelog.actors import Cause
from tests.in_memory.inspectable import serving
from tests.worlds.operated_groups import OperatedGroups

PLACE = ("-g", "g", "-t", "orders", "-p", "0")
NOW = ("--execute", "--reason", "poison, ticket 4711")


@pytest.fixture
def operated() -> OperatedGroups:
    return asyncio.run(OperatedGroups().begin())


def run(operated: OperatedGroups, *arguments: str) -> Result:
    with serving(operated.inspectable.server()) as url:
        return CliRunner().invoke(cli, [*arguments, "--admin-url", url])


def test_it_is_shown_what_would_change_and_nothing_is(operated: OperatedGroups) -> None:
    # When
    result = run(operated, "in-flight", "archive", *PLACE, "1-2", "4")

    # Then
    assert result.exit_code == 0, result.output
    assert [" ".join(line.split()) for line in result.stdout.splitlines()] == [
        "GROUP TOPIC PARTITION FIRST-OFFSET LAST-OFFSET DELIVERIES BEFORE AFTER CONSUMER-ID CLIENT-ID",
        "g orders 0 1 2 1 Acquired Archived alice client",
        "g orders 0 4 4 1 Acquired Archived alice client",
    ]
    assert result.stderr == "dry run: nothing was changed; --execute --reason TEXT does it\n"
    assert not any(
        actor.cause is Cause.OPERATOR for actors in operated.world.state_log.actors for actor in actors
    )


@pytest.mark.parametrize(
    ("action", "after"), [("release", "Available"), ("accept", "Acknowledged"), ("archive", "Archived")]
)
def test_what_is_executed_is_durable_with_its_reason(
    operated: OperatedGroups, action: str, after: str
) -> None:
    # When
    result = run(operated, "in-flight", action, *PLACE, "4", "0", *NOW, "-o", "json")

    # Then
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert [(run["firstOffset"], run["stateAfter"]) for run in answer["items"]] == [(0, after), (4, after)]
    [actor] = operated.world.state_log.actors[-1]
    assert actor.offset_ranges == ((0, 0), (4, 4))
    assert actor.reason.startswith(f"{action} by ")
    assert actor.reason.endswith("@/127.0.0.1: poison, ticket 4711")


def test_the_sessions_of_a_member_are_ended(operated: OperatedGroups) -> None:
    # When
    result = run(operated, "sessions", "end", "-g", "g", "-m", "alice", *NOW, "--no-headers")

    # Then
    assert (result.exit_code, result.stdout.split()[:3], result.stdout.split()[-1]) == (
        0,
        ["g", "alice", "1"],
        "5",
    )
    assert operated.world.groups.session_count == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("in-flight", "archive", *PLACE, "1", "--execute"), "--execute needs --reason TEXT"),
        (
            ("in-flight", "archive", *PLACE, "1", "--execute", "--reason", " "),
            "--execute needs --reason TEXT",
        ),
        (("in-flight", "archive", *PLACE, "1", *NOW, "--dry-run"), "give --dry-run or --execute, not both"),
        (("in-flight", "archive", *PLACE, "2-1"), "'2-1': expected an offset, or a range such as 4711-4720"),
        (("in-flight", "archive", *PLACE), "Missing argument"),
        (
            ("in-flight", "archive", *PLACE, *map(str, range(101))),
            "101 ranges of offsets: 100 are taken at a time",
        ),
        (("sessions", "end", "-g", "g"), "Missing option"),
    ],
)
def test_what_makes_no_sense_is_wrong_usage(
    operated: OperatedGroups, arguments: Sequence[str], complaint: str
) -> None:
    # When
    result = CliRunner().invoke(cli, arguments)

    # Then
    assert result.exit_code == 2
    assert complaint in result.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("in-flight", "release", "-g", "x", "-t", "orders", "-p", "0", "1"), "there is no share group 'x'"),
        (
            ("in-flight", "release", "-g", "g", "-t", "oders", "-p", "0", "1"),
            "a topic 'oders'; there is orders",
        ),
        (
            ("in-flight", "release", "-g", "g", "-t", "orders", "-p", "7", "1"),
            "there is no partition 7: topic 'orders' has 2 partitions",
        ),
        (("sessions", "end", "-g", "g", "-m", "alic"), "; nearest: alice"),
        (("sessions", "end", "-g", "g", "-m", "alice", "--node", "9"), "has no share session with broker 9"),
    ],
)
def test_what_is_not_there_is_exit_code_3(
    operated: OperatedGroups, arguments: Sequence[str], complaint: str
) -> None:
    # When
    result = run(operated, *arguments)

    # Then
    assert result.exit_code == 3, result.output
    assert complaint in result.stderr


@pytest.mark.parametrize(
    ("member", "exit_code", "said"),
    [
        ("alice", 0, "done, durably\n"),
        ("bob", 1, "Error: offset 1 is held by 'alice', and not by 'bob'\n"),
    ],
)
def test_what_was_seen_with_one_member_is_not_taken_from_another(
    operated: OperatedGroups, member: str, exit_code: int, said: str
) -> None:
    # When
    result = run(operated, "in-flight", "accept", *PLACE, "1", "--member", member, *NOW)

    # Then
    assert (result.exit_code, result.stderr) == (exit_code, said)


def test_what_cannot_be_done_is_said(operated: OperatedGroups) -> None:
    # When
    result = run(operated, "in-flight", "release", *PLACE, "3-9")

    # Then
    assert (result.exit_code, result.stderr) == (1, "Error: offset 9 was never acquired, the last one is 4\n")


def test_a_port_that_takes_no_actions_is_exit_code_4(operated: OperatedGroups) -> None:
    # Given
    operated.inspectable.is_guarded = False

    # When
    result = run(operated, "in-flight", "release", *PLACE, "3")

    # Then
    assert result.exit_code == 4
    assert "set kproxy.admin.listener to a loopback address" in result.stderr


@pytest.mark.parametrize(
    "arguments", [("in-flight", "accept", *PLACE, "3"), ("sessions", "end", "-g", "g", "-m", "alice")]
)
def test_a_kproxy_that_cannot_be_reached_is_exit_code_4_with_what_was_tried(arguments: Sequence[str]) -> None:
    # When
    result = CliRunner().invoke(cli, [*arguments, "--admin-url", "http://127.0.0.1:9"])

    # Then
    assert result.exit_code == 4
    assert "cannot reach http://127.0.0.1:9/api/v1/actions" in result.stderr


def test_who_would_release_is_warned_that_the_next_attempt_is_the_last(
    operated: OperatedGroups, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    monkeypatch.setattr(in_flight_actions, "runs_of", lambda *_: ({}, [{"deliveryCountLimit": 2}]))

    # When
    result = run(operated, "in-flight", "release", *PLACE, "1-2")

    # Then
    assert result.stderr.splitlines()[-1] == (
        "Warning: the next attempt would be the last one, 2 of 2, of 2 records, offset 1 first: "
        "archived after it unless accepted"
    )


def test_who_would_release_early_attempts_is_not_warned(operated: OperatedGroups) -> None:
    assert "Warning" not in run(operated, "in-flight", "release", *PLACE, "1-2").stderr
