"""What operators do to records and sessions of a real kproxy, and what is told when that kproxy is down."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from kproxy.error_codes import ErrorCode
from tests.kafka.test_log_commands import kproxy_command, wait_for_a_group_coordinator
from tests.real_kafka.administration import create_topic, produce, set_group_settings, unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess, MetricValues, state_topic_settings
from tests.real_kafka.raw_share_member import RawShareMember

ACCEPT = 1
NOW = ("--execute", "--reason", "poison, ticket 9")

Items = list[dict[str, Any]]


def items_of(ended: subprocess.CompletedProcess[str]) -> Items:
    assert ended.returncode == 0, ended.stderr
    items = json.loads(ended.stdout)["items"]
    assert isinstance(items, list)
    return items


@dataclass(slots=True)
class Operated:
    """A group whose member alice held ten records, of which an operator archived 2 to 4, and then ended its session."""

    brokers: str
    settings: dict[str, str | int] = field(default_factory=state_topic_settings)
    topic: str = ""
    group: str = field(default_factory=lambda: unique_name("workers"))
    planned: Items = field(default_factory=list)
    archived: Items = field(default_factory=list)
    late_error: int = ErrorCode.NONE
    """What alice was told of a record that was archived under its hands."""
    ended: Items = field(default_factory=list)
    unknown: subprocess.CompletedProcess[str] | None = None
    metrics: MetricValues | None = None

    @property
    def place(self) -> Sequence[str]:
        return "-g", self.group, "-t", self.topic, "-p", "0"

    def operate(self, kproxy: KproxyProcess, member: RawShareMember) -> None:
        asked = ("-o", "json", "--admin-url", kproxy.admin_url)
        self.planned = items_of(kproxy_command("in-flight", "archive", *self.place, "2-4", *asked))
        self.archived = items_of(kproxy_command("in-flight", "archive", *self.place, "2-4", *NOW, *asked))
        self.late_error = member.acknowledge(3, 3, ACCEPT)
        of_alice = ("-g", self.group, "-m", "alice")
        self.ended = items_of(kproxy_command("sessions", "end", *of_alice, *NOW, *asked))
        self.unknown = kproxy_command("sessions", "end", "-g", self.group[:-1], "-m", "alice", *asked)
        self.metrics = kproxy.metrics()

    def by_log(self, *command: str) -> Items:
        """Return what a command tells, now that kproxy is down."""
        settings = [word for key, value in self.settings.items() for word in ("-X", f"{key}={value}")]
        return items_of(kproxy_command(*command, "-o", "json", "-b", self.brokers, *settings))


@contextmanager
def holding_all(operated: Operated) -> Iterator[tuple[KproxyProcess, RawShareMember]]:
    """Let alice hold ten records of a new topic, at a kproxy that is gone afterwards."""
    brokers = operated.brokers
    operated.topic = create_topic(brokers, unique_name("jobs"))
    wait_for_a_group_coordinator(brokers)
    produce(brokers, operated.topic, [str(number) for number in range(10)])
    with KproxyProcess(brokers, settings=operated.settings) as kproxy:
        kproxy.wait_until_ready()
        # Several commands run while alice holds them.
        chosen = {"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": "60000"}
        set_group_settings(kproxy.bootstrap_servers, operated.group, chosen)
        address = kproxy.broker_addresses[1]
        with RawShareMember(address, group=operated.group, topic=operated.topic, member_id="alice") as member:
            member.join()
            member.fetch_until_acquired()
            yield kproxy, member
            # First, so that its member leaves nothing behind.
            kproxy.drain()


@pytest.fixture(scope="module")
def operated(reference_cluster: KafkaCluster) -> Operated:
    found = Operated(reference_cluster.bootstrap_servers)
    with holding_all(found) as (kproxy, member):
        found.operate(kproxy, member)
    return found


def test_what_was_planned_is_what_was_done(operated: Operated) -> None:
    assert operated.archived == operated.planned
    [run] = operated.archived
    assert (run["firstOffset"], run["lastOffset"], run["stateAfter"]) == (2, 4, "Archived")
    assert operated.metrics is not None
    assert operated.metrics.value("kproxy_operator_actions_total", action="archive", result="executed") == 1


def test_who_held_a_record_hears_that_it_holds_it_no_more(operated: Operated) -> None:
    assert operated.late_error == ErrorCode.INVALID_RECORD_STATE


def test_a_session_ended_with_what_was_held_in_it(operated: Operated) -> None:
    assert [(session["memberId"], session["heldCount"]) for session in operated.ended] == [("alice", 7)]


def test_a_group_that_is_not_there_is_told_with_the_nearest(operated: Operated) -> None:
    assert operated.unknown is not None
    assert operated.unknown.returncode == 3
    assert f"nearest: {operated.group}" in operated.unknown.stderr


def test_the_log_alone_has_what_is_durable_in_flight(operated: Operated) -> None:
    # When
    runs = operated.by_log("in-flight", "list", "--from-log", "-g", operated.group)

    # Then
    assert [(run["firstOffset"], run["lastOffset"], run["state"]) for run in runs] == [
        (0, 1, "Available"),
        (2, 4, "Archived"),
        (5, 9, "Available"),
    ]


def test_the_log_alone_has_the_members_of_the_group(operated: Operated) -> None:
    # When
    members = operated.by_log("sessions", "list", "--from-log", "-g", operated.group)

    # Then
    assert [(member["groupId"], member["memberId"]) for member in members] == [(operated.group, "alice")]


def test_the_log_alone_has_what_was_given_up_with_who_had_it_and_why(operated: Operated) -> None:
    # When
    [run] = operated.by_log("in-flight", "finished", "-g", operated.group)

    # Then
    assert (run["firstOffset"], run["lastOffset"], run["memberId"]) == (2, 4, "alice")
    assert (run["endedBy"], run["topicName"]) == ("operator", operated.topic)
    assert run["reason"].endswith("@/127.0.0.1: poison, ticket 9")


def test_the_log_alone_has_all_that_happened_to_a_record(operated: Operated) -> None:
    # When
    events = operated.by_log("log", "audit", *operated.place, "--offset", "3")

    # Then
    [acted] = [event for event in events if event["event"] == "operator"]
    assert (acted["memberId"], acted["endedBy"]) == ("alice", "operator")


def test_the_log_alone_has_what_is_stuck(operated: Operated) -> None:
    # When
    records = operated.by_log("log", "stuck", "-g", operated.group)

    # Then
    assert [(record["offset"], record["reason"], record["doneBehind"]) for record in records] == [
        (0, "blocks-start-offset", 3)
    ]
