"""`kproxy log` over a log in memory. tests/kafka/test_log_commands.py has a real one."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import pytest
from click.testing import CliRunner, Result

from kproxy.cli.main import cli
from kproxy.clients import topic_reader
from kproxy.clients.failures import CannotConnect
from kproxy.share.identifiers import GroupId, SharePartitionKey
from kproxy.statelog.group_records import GroupConfigs, encode_group_record
from kproxy.wire.records import Record
from tests.in_memory.in_memory_consumer import WRITTEN_MS, InMemoryConsumer
from tests.in_memory.written_log import ORDERS, a_claim, a_snapshot, a_tombstone, an_update

UNKNOWN = Record(b"\x00\x09", b"?")
AUDITORS: Final = SharePartitionKey(GroupId("auditors"), ORDERS, 0)
HASH_OF_WORKERS: Final = 1_525_161_141
"""Of `"workers".hashCode()` in Java."""


class Opening:
    """Stands where the command connects, and remembers to which servers."""

    def __init__(self, consumer: InMemoryConsumer | None) -> None:
        self.consumer = consumer
        self.servers: Sequence[str] = ()

    @contextmanager
    def __call__(self, servers: Sequence[str], _: Mapping[str, object]) -> Iterator[InMemoryConsumer]:
        self.servers = servers
        if self.consumer is None:
            raise CannotConnect("cannot reach the backing cluster")
        with self.consumer.connected() as consumer:
            yield consumer


@pytest.fixture
def opening(monkeypatch: pytest.MonkeyPatch) -> Opening:
    records = [a_claim(), a_snapshot(), an_update(), a_tombstone()]
    found = Opening(InMemoryConsumer({0: records, 1: [], 2: [a_claim(), a_snapshot()]}))
    monkeypatch.setattr(topic_reader, "connected", found)
    return found


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["log", *arguments, "-b", "kafka-1:9092,kafka-2:9092"])


def lines_of(result: Result) -> list[tuple[int, int]]:
    assert result.exit_code == 0, result.output
    found = [json.loads(line) for line in result.stdout.splitlines()]
    return [(line["partition"], line["offset"]) for line in found]


def test_a_dump_is_a_line_of_json_for_each_record(opening: Opening) -> None:
    # When
    result = run("dump")

    # Then
    assert lines_of(result) == [(0, 0), (0, 1), (0, 2), (0, 3), (2, 0), (2, 1)]
    assert json.loads(result.stdout.splitlines()[1])["timestamp"] == WRITTEN_MS + 1000
    assert opening.servers == ["kafka-1:9092", "kafka-2:9092"]
    assert opening.consumer is not None
    assert set(opening.consumer.topics) == {"__kproxy_share_state"}
    assert opening.consumer.is_closed


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (("--log-partition", "2"), [(2, 0), (2, 1)]),
        (("--from-offset", "1", "--to-offset", "2"), [(0, 1), (0, 2), (2, 1)]),
        (("--max-records", "5"), [(0, 0), (0, 1), (0, 2), (0, 3), (2, 0)]),
        (("--log-partition", "1"), []),
    ],
)
def test_a_dump_can_be_narrowed(
    opening: Opening, options: Sequence[str], found: list[tuple[int, int]]
) -> None:
    assert lines_of(run("dump", *options)) == found
    assert opening.consumer is not None
    assert opening.consumer.is_closed


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (("-g", "workers"), [(0, 1), (2, 0)]),
        (("-g", "auditors"), [(0, 2), (0, 3)]),
        (("-g", "auditors", "--max-records", "1"), [(0, 2)]),
        (("--group", "workers", "--log-partition", "2"), [(2, 0)]),
    ],
)
def test_a_dump_can_be_of_one_group(
    opening: Opening, options: Sequence[str], found: list[tuple[int, int]]
) -> None:
    # Given
    records = [a_claim(), a_snapshot(), an_update(AUDITORS), a_tombstone(AUDITORS)]
    opening.consumer = InMemoryConsumer({0: records, 2: [an_update(), a_claim()]})

    # Then
    assert lines_of(run("dump", *options)) == found


def test_statistics_can_be_of_one_group(opening: Opening) -> None:
    # Given
    opening.consumer = InMemoryConsumer({0: [a_claim(), a_snapshot(), an_update(AUDITORS)]})

    # When
    result = run("stats", "-g", "workers", "-o", "jsonl")

    # Then
    assert json.loads(result.stdout)["recordsByType"] == {"ShareSnapshot": 1}


@pytest.mark.parametrize("command", ["dump", "stats"])
def test_a_group_that_no_record_names_is_not_found(opening: Opening, command: str) -> None:
    # When
    result = run(command, "-g", "nobody")

    # Then
    assert result.exit_code == 3
    assert result.stderr == (
        "Error: __kproxy_share_state has no record of share group 'nobody', "
        "or none in the part of it that was asked for\n"
    )
    assert opening.servers


def test_what_cannot_be_decoded_may_be_of_any_group(opening: Opening) -> None:
    # Given
    opening.consumer = InMemoryConsumer({0: [a_claim(), UNKNOWN, a_snapshot()]})

    # When
    result = run("dump", "-g", "workers")

    # Then
    assert result.exit_code == 6
    assert [json.loads(line)["offset"] for line in result.stdout.splitlines()] == [1, 2]


def test_of_the_topic_of_groups_only_the_partition_of_the_group_is_read(opening: Opening) -> None:
    # Given
    record = encode_group_record(GroupConfigs(GroupId("workers"), {}), claim_epoch=None)
    opening.consumer = InMemoryConsumer({0: [record], 1: [record], 2: [record]})

    # When
    result = run("dump", "--topic", "groups", "-g", "workers")

    # Then: Java's hash of the id, as Kafka's own coordinator places it
    assert lines_of(result) == [(HASH_OF_WORKERS % 3, 0)]


def test_a_partition_means_one_of_a_consumed_topic_and_never_one_of_the_log(opening: Opening) -> None:
    # When
    result = run("dump", "--partition", "2")

    # Then
    assert result.exit_code == 2
    assert "--log-partition" in result.stderr
    assert opening.servers == ()


def test_the_other_topic_and_its_name_can_be_chosen(opening: Opening) -> None:
    # When
    run("dump", "--topic", "groups", "-X", "kproxy.groups.topic.name=elsewhere")

    # Then
    assert opening.consumer is not None
    assert set(opening.consumer.topics) == {"elsewhere"}


def test_a_topic_that_is_not_there_is_not_found_and_the_keys_that_name_another_are_told(
    opening: Opening,
) -> None:
    # Given
    opening.consumer = InMemoryConsumer({})

    # When
    result = run("dump")

    # Then
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == (
        "Error: the backing cluster has no topic __kproxy_share_state, or this client may not see it; another name "
        "is given with -X kproxy.state.topic.name=… or -X kproxy.groups.topic.name=…\n"
    )


def test_a_dump_can_be_a_table(opening: Opening) -> None:
    # When
    result = run("dump", "--log-partition", "2", "-o", "table")

    # Then
    header, claim, snapshot = result.stdout.splitlines()
    assert header.split() == ["PARTITION", "OFFSET", "TIMESTAMP", "TYPE", "KEY", "CLAIM", "CAUSES", "VALUE"]
    assert claim.split()[:4] == ["2", "0", "2026-11-21T12:00:00.000Z", "KproxyClaim"]
    assert snapshot.split()[3:7] == ["ShareSnapshot", "workers:dG9waWMtaWQtb3JkZXJzLg:1", "0", "load"]
    assert opening.servers


def test_what_cannot_be_decoded_is_printed_and_makes_the_success_partial(opening: Opening) -> None:
    # Given
    opening.consumer = InMemoryConsumer({0: [a_claim(), UNKNOWN, a_snapshot()]})

    # When
    result = run("dump")

    # Then
    assert result.exit_code == 6
    assert [json.loads(line).get("error") for line in result.stdout.splitlines()] == [
        None,
        "unknown record type 9",
        None,
    ]
    assert result.stderr == "Error: 1 record cannot be decoded\n"


def test_statistics_are_a_row_for_each_partition_with_records(opening: Opening) -> None:
    # When
    result = run("stats", "--no-headers")

    # Then
    assert result.exit_code == 0
    assert [line.split()[:2] for line in result.stdout.splitlines()] == [["0", "4"], ["2", "2"]]
    assert opening.servers


def test_statistics_can_be_json(opening: Opening) -> None:
    # Given
    opening.consumer = InMemoryConsumer({0: [a_claim(), UNKNOWN, UNKNOWN]})

    # When
    result = run("stats", "-o", "jsonl")

    # Then
    assert result.exit_code == 6
    assert json.loads(result.stdout)["recordsByType"] == {"KproxyClaim": 1, "Undecodable": 2}
    assert result.stderr == "Error: 2 records cannot be decoded\n"


def test_statistics_of_an_empty_log_are_a_header(opening: Opening) -> None:
    # Given
    opening.consumer = InMemoryConsumer({0: []})

    # When
    result = run("stats")

    # Then
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["PARTITION"]


def test_a_partition_that_is_not_there_is_not_found(opening: Opening) -> None:
    # When
    result = run("dump", "--log-partition", "9")

    # Then
    assert result.exit_code == 3
    assert result.stderr == "Error: __kproxy_share_state has no partition 9\n"
    assert opening.consumer is not None
    assert opening.consumer.is_closed


def test_a_cluster_that_cannot_be_reached_is_one_line(opening: Opening) -> None:
    # Given
    opening.consumer = None

    # When
    result = run("stats")

    # Then
    assert result.exit_code == 4
    assert result.stderr == "Error: cannot reach the backing cluster\n"


def test_without_a_cluster_there_is_nothing_to_read() -> None:
    # When
    result = CliRunner().invoke(cli, ["log", "dump"])

    # Then
    assert result.exit_code == 2
    assert "bootstrap.servers is not set" in result.stderr


@pytest.mark.parametrize(
    "options", [("--topic", "x"), ("--max-records", "0"), ("--from-offset", "-1"), ("-o", "yaml")]
)
def test_options_that_make_no_sense_are_wrong_usage(options: Sequence[str]) -> None:
    assert run("dump", *options).exit_code == 2


@pytest.mark.parametrize("command", ["dump", "stats"])
def test_partitions_without_a_leader_are_left_out_and_the_exit_code_says_so(
    opening: Opening, command: str
) -> None:
    # Given
    assert opening.consumer is not None
    opening.consumer.leaderless = {0}

    # When
    result = run(command, "-o", "jsonl")

    # Then
    assert result.exit_code == 6
    assert {json.loads(line)["partition"] for line in result.stdout.splitlines()} == {2}
    assert result.stderr.splitlines() == [
        "Warning: left out of __kproxy_share_state: partition 0 has no leader (broker 1 is down)",
        "Error: the answer is not whole: __kproxy_share_state: partition 0 has no leader (broker 1 is down)",
    ]


@pytest.mark.parametrize("command", ["dump", "stats"])
def test_a_group_that_is_in_none_of_what_could_be_read_may_be_in_the_rest(
    opening: Opening, command: str
) -> None:
    # Given
    assert opening.consumer is not None
    opening.consumer.leaderless = {1}

    # When
    result = run(command, "-g", "auditors")

    # Then
    assert result.exit_code == 6
    assert result.stderr.splitlines()[-1] == (
        "Error: the answer is not whole: __kproxy_share_state: partition 1 has no leader (broker 1 is down)"
    )


def test_the_one_partition_that_is_asked_for_cannot_be_read_without_a_leader(opening: Opening) -> None:
    # Given
    assert opening.consumer is not None
    opening.consumer.leaderless = {2}

    # When
    result = run("dump", "--log-partition", "2")

    # Then
    assert result.exit_code == 4
    assert result.stderr == (
        "Error: __kproxy_share_state cannot be read: partition 2 has no leader (broker 1 is down); "
        "ask again when there is one\n"
    )
