"""`kproxy in-flight finished` over a log in memory."""

import json
from collections.abc import Sequence

import pytest
from click.testing import CliRunner, Result

from kproxy.cli.main import cli
from kproxy.clients import topic_reader
from tests.in_memory.in_memory_consumer import WRITTEN_MS, InMemoryConsumer
from tests.in_memory.log_in_memory import LogInMemory, names_of_jobs
from tests.worlds.consumptions import Step, consumption_of

SINCE = ("--since", str(WRITTEN_MS))


@pytest.fixture(autouse=True)
def written(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = [
        Step(0, "lock-timeout", member, 0, 1, 1000) for member in ("alice", "bob", "alice", "bob", "carol")
    ]
    made = consumption_of(
        0, [*tried, Step(0, "reject", "bob", 0, 2, 1000), Step(0, "accept", "bob", 0, 2, 1000)]
    )
    monkeypatch.setattr(topic_reader, "connected", LogInMemory(made.records, [names_of_jobs()]).opened)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["in-flight", "finished", *arguments, "-b", "kafka-1:9092"])


def test_what_was_given_up_is_listed_with_who_had_it_last() -> None:
    # When
    result = run("-g", "orders-0", "-t", "jobs", *SINCE, "--from-log")

    # Then
    assert result.exit_code == 0, result.output
    assert [" ".join(line.split()) for line in result.stdout.splitlines()] == [
        "TIME GROUP TOPIC PARTITION FIRST-OFFSET LAST-OFFSET ENDED-BY EVENT DELIVERIES CONSUMER-ID CLIENT-ID",
        "2026-11-21T12:00:10Z orders-0 jobs 0 1 2 reject reject 1 bob bob-client",
        "2026-11-21T12:00:09Z orders-0 jobs 0 0 0 delivery-limit lock-timeout 5 carol carol-client",
    ]


def test_other_ends_can_be_asked_for_and_the_newest_ones_come() -> None:
    # When
    result = run(*SINCE, "--ended-by", "accept", "--ended-by", "reject", "--most", "1", "-o", "json")

    # Then
    answer = json.loads(result.stdout)
    assert [(each["firstOffset"], each["endedBy"]) for each in answer["items"]] == [(3, "accept")]
    assert answer["dropped"] == 1
    assert "1 older run of records not shown" in result.stderr


def test_that_there_is_nothing_is_said() -> None:
    # When
    result = run("-g", "mail-0", *SINCE)

    # Then
    assert (result.exit_code, result.stderr) == (
        0,
        "Nothing ended like that since 2026-11-21T12:00:00.000Z.\n",
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("-g", "order-0"), "there is no share group 'order-0' in __kproxy_share_state; nearest: orders-0"),
        (("-g", "orders-0", "-t", "job"), "there is no topic 'job' in __kproxy_share_state; nearest: jobs"),
    ],
)
def test_a_name_that_is_not_there_is_exit_code_3(arguments: Sequence[str], complaint: str) -> None:
    # When
    result = run(*arguments)

    # Then
    assert (result.exit_code, result.stderr) == (3, f"Error: {complaint}\n")


def test_a_topic_that_is_in_none_of_what_could_be_read_may_be_in_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    made = consumption_of(0, [Step(0, "reject", "bob", 0, 2, 1000)])
    half_a_log = InMemoryConsumer({0: made.records, 1: []}, leaderless={1})
    monkeypatch.setattr(topic_reader, "connected", lambda *_: half_a_log.connected())

    # When
    result = run("-t", "payments", *SINCE)

    # Then
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (
        6,
        "Error: the answer is not whole: __kproxy_share_state: partition 1 has no leader (broker 1 is down)",
    )
