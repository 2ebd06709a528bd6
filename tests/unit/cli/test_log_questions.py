"""`kproxy log stuck` and `audit` over a log in memory, which `tests.worlds.consumptions` wrote."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NoReturn

import pytest
from click.testing import CliRunner, Result

from kproxy.cli import log_reading
from kproxy.cli.main import cli
from kproxy.clients import topic_reader
from kproxy.clients.failures import CannotConnect
from tests.in_memory.in_memory_consumer import InMemoryConsumer
from tests.in_memory.log_in_memory import GROUPS_TOPIC, LogInMemory, names_of_jobs
from tests.worlds.consumptions import Step, consumption_of

NO_ENDS: Final = "no-progress is not told, for topics do not say where they end: no answer in time"


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> None:
    made = consumption_of(
        0,
        [
            Step(0, "lock-timeout", "alice", 0, 1, 1000),
            Step(0, "accept", "bob", 1, 3, 1000),
            *[Step(1, "lock-timeout", "carol", 0, 1, 1000) for _ in range(4)],
        ],
    )
    monkeypatch.setattr(topic_reader, "connected", LogInMemory(made.records, [names_of_jobs()]).opened)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["log", *arguments, "-b", "kafka-1:9092"])


def test_what_is_stuck_is_told_with_its_reason_and_who_had_it_last(steps: None) -> None:
    # When
    result = run("stuck", "-g", "orders-0")

    # Then
    assert result.exit_code == 0, result.output
    assert [" ".join(line.split()) for line in result.stdout.splitlines()[1:]] == [
        "orders-0 jobs 0 0 blocks-start-offset 1 3 - 2026-11-21T12:00:05Z lock-timeout alice-client",
        "orders-0 jobs 1 0 near-delivery-limit 4 0 - 2026-11-21T12:00:07Z lock-timeout carol-client",
    ]
    assert result.stderr.splitlines()[-1] == (
        "Left out: records that a member merely holds, however long, for acquisitions are not in the log. "
        "A running kproxy tells of them: kproxy why, or kproxy in-flight list --state Acquired --held 60000"
    )


def test_all_that_happened_to_a_record_is_told(steps: None) -> None:
    # When
    result = run("audit", "-t", "jobs", "-p", "0", "--offset", "0", "-g", "orders-0", "-o", "json")

    # Then
    events = json.loads(result.stdout)["items"]
    assert [(event["event"], event["clientId"]) for event in events] == [
        ("initialize", None),
        ("lock-timeout", "alice-client"),
    ]


def test_an_audit_is_of_something(steps: None) -> None:
    # When
    result = run("audit", "-g", "orders-0")

    # Then
    assert result.exit_code == 2
    assert "give --offset N, --member ID, or both" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ("stuck", "-g", "order-0"),
            "there is no share group 'order-0' in __kproxy_share_state; nearest: orders-0",
        ),
        (
            ("audit", "-t", "job", "--offset", "1"),
            "there is no topic 'job' in __kproxy_share_state; nearest: jobs",
        ),
    ],
)
def test_a_name_that_the_log_does_not_have_is_exit_code_3(
    steps: None, arguments: Sequence[str], complaint: str
) -> None:
    # When
    result = run(*arguments)

    # Then
    assert (result.exit_code, result.stderr) == (3, f"Error: {complaint}\n")


def test_an_offset_of_which_the_log_tells_little_is_told_with_those_of_which_it_tells(steps: None) -> None:
    # When
    result = run("audit", "-t", "jobs", "-p", "0", "--offset", "99", "-g", "orders-0")

    # Then
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[1].split()[6] == "initialize"
    assert result.stderr == (
        "Note: nothing happened to offset 99 that the log tells of; it tells of offsets 0 to 3\n"
    )


def test_an_offset_of_which_the_log_tells_nothing_is_exit_code_3(steps: None) -> None:
    # When
    result = run("audit", "-t", "jobs", "--member", "bob", "--offset", "99", "-g", "orders-0")

    # Then
    assert result.exit_code == 3
    assert "it tells of offsets 1 to 3" in result.stderr


def test_a_long_log_is_left_to_spark(steps: None, monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    monkeypatch.setattr(log_reading.all_of, "__kwdefaults__", {"most": 3, "starts": {}, "unread": None})

    # When
    result = run("stuck")

    # Then
    assert result.exit_code == 1
    assert result.stderr == (
        "Error: __kproxy_share_state has 11 offsets, more than 3, the most that is read without Spark: "
        "kproxy replay stuck -b kafka-1:9092\n"
    )


def test_a_member_that_did_nothing_in_a_time_is_said_to_have_done_nothing_then(steps: None) -> None:
    # When
    result = run("audit", "--member", "bob", "--since", "2026-11-30")

    # Then
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 1)
    assert result.stderr == (
        "Nothing that 'bob' acknowledged or lost is in what was asked for: another --since, --until or --offset "
        "may have more; what a member merely holds is not in the log (kproxy in-flight list)\n"
    )


@pytest.fixture
def half_a_log(monkeypatch: pytest.MonkeyPatch) -> InMemoryConsumer:
    """A log of two partitions, of which 1 has no leader; `orders-0` is in 0, `orders-1` would be in 1."""
    made = consumption_of(0, [Step(0, "lock-timeout", "alice", 0, 1, 1000)])
    consumer = InMemoryConsumer({0: made.records, 1: []}, leaderless={1})

    @contextmanager
    def opened(*_: object) -> Iterator[InMemoryConsumer]:
        yield consumer

    monkeypatch.setattr(topic_reader, "connected", opened)
    return consumer


def test_a_group_whose_partition_has_a_leader_is_answered_for_in_full(half_a_log: InMemoryConsumer) -> None:
    # When
    result = run("audit", "--offset", "0", "-g", "orders-0")

    # Then
    assert result.exit_code == 0, result.output
    assert "lock-timeout" in result.stdout


def test_without_a_group_the_answer_is_in_part_when_a_partition_has_no_leader(
    half_a_log: InMemoryConsumer,
) -> None:
    # When
    result = run("audit", "--offset", "0")

    # Then
    assert "lock-timeout" in result.stdout
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (
        6,
        "Error: the answer is not whole: __kproxy_share_state: partition 1 has no leader (broker 1 is down)",
    )


@pytest.mark.parametrize(
    "question",
    [
        ("stuck", "-t", "payments"),
        ("audit", "-t", "payments", "--offset", "0"),
        ("audit", "--member", "bob"),
    ],
)
def test_a_name_that_is_in_none_of_what_could_be_read_may_be_in_the_rest(
    half_a_log: InMemoryConsumer, question: Sequence[str]
) -> None:
    # When
    result = run(*question)

    # Then
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (
        6,
        "Error: the answer is not whole: __kproxy_share_state: partition 1 has no leader (broker 1 is down)",
    )


@pytest.mark.parametrize(("question", "exit_code"), [(("-t", "jobs"), 6), (("-g", "order-0"), 3)])
def test_a_topic_may_be_one_whose_name_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, question: Sequence[str], exit_code: int
) -> None:
    # Given
    made = consumption_of(0, [Step(0, "lock-timeout", "alice", 0, 1, 1000)])
    log = LogInMemory(made.records, [names_of_jobs()], leaderless_topics={GROUPS_TOPIC})
    monkeypatch.setattr(topic_reader, "connected", log.opened)

    # When
    result = run("stuck", *question)

    # Then
    assert result.exit_code == exit_code
    assert ("the answer is not whole: __kproxy_share_groups" in result.stderr) == (exit_code == 6)


@pytest.mark.parametrize(
    ("leaderless", "warnings", "lacking"),
    [
        (
            "jobs",
            ["no-progress is not told of jobs: partition 0 has no leader (broker 1 is down)"],
            "jobs: partition 0 has no leader (broker 1 is down)",
        ),
        (
            GROUPS_TOPIC,
            [
                "left out of __kproxy_share_groups: partition 0 has no leader (broker 1 is down)",
                "no-progress is not told of 1 topic whose name could not be read",
            ],
            "__kproxy_share_groups: partition 0 has no leader (broker 1 is down)",
        ),
    ],
)
def test_a_queue_whose_end_nobody_can_say_is_not_told_to_be_well(
    monkeypatch: pytest.MonkeyPatch, leaderless: str, warnings: Sequence[str], lacking: str
) -> None:
    # Given
    made = consumption_of(0, [Step(0, "accept", "alice", 0, 3, 1000)])
    log = LogInMemory(made.records, [names_of_jobs()], consumed="jobs", leaderless_topics={leaderless})
    monkeypatch.setattr(topic_reader, "connected", log.opened)

    # When
    result = run("stuck", "-g", "orders-0")

    # Then
    said = result.stderr.splitlines()
    assert (result.exit_code, said[-1]) == (6, f"Error: the answer is not whole: {lacking}")
    assert [line for line in said if line.startswith("Warning: ")] == [
        f"Warning: {each}" for each in warnings
    ]


@pytest.mark.parametrize(
    ("group", "exit_code", "error"),
    [
        ("orders-0", 6, f"the answer is not whole: {NO_ENDS}"),
        ("order-0", 3, "there is no share group 'order-0' in __kproxy_share_state; nearest: orders-0"),
    ],
)
def test_where_no_topic_says_its_end_the_answer_is_in_part(
    steps: None, monkeypatch: pytest.MonkeyPatch, group: str, exit_code: int, error: str
) -> None:
    # Given
    def silent(*_: object, **__: object) -> NoReturn:
        raise CannotConnect("no answer in time")

    monkeypatch.setattr(topic_reader.TopicReader, "topic_ends", silent)

    # When
    result = run("stuck", "-g", group)

    # Then
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (exit_code, f"Error: {error}")
    assert f"Warning: {NO_ENDS}" in result.stderr


@pytest.mark.parametrize("question", [("audit", "--offset", "0"), ("stuck",)])
def test_a_group_whose_partition_has_no_leader_cannot_be_told_of(
    half_a_log: InMemoryConsumer, question: Sequence[str]
) -> None:
    # When
    result = run(*question, "-g", "orders-1")

    # Then
    assert result.exit_code == 4
    assert result.stderr.splitlines()[-1] == (
        "Error: __kproxy_share_state has share group 'orders-1' in a partition that cannot be read: "
        "partition 1 has no leader (broker 1 is down); ask again when there is one"
    )


def test_the_offset_of_an_audit_may_be_an_argument(steps: None) -> None:
    assert (
        run("audit", "-g", "orders-0", "0").stdout == run("audit", "-g", "orders-0", "--offset", "0").stdout
    )
