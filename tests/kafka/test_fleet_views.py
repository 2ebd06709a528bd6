"""Two kproxies in front of one cluster: whichever is asked tells the same, and what it cannot know it says."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.client import HTTPResponse
from typing import Any, Final
from urllib.request import urlopen

import pytest
from click.testing import CliRunner

from kproxy.cli.main import cli
from kproxy.jobs.verify.live_state import live_slots
from kproxy.share.identifiers import GroupId
from kproxy.statelog.partitioning import group_partition
from tests.real_kafka.administration import create_topic, produce, unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import STATE_TOPIC_PARTITIONS, KproxyProcess, state_topic_settings
from tests.real_kafka.raw_share_member import RawShareMember

GROUPS: Final = 6
PATIENCE_SECONDS: Final = 40.0
GOING_ON: Final = frozenset(
    {
        "idleMs",
        "lastHeartbeatAgeMs",
        "lockRemainingMs",
        "oldestAgeMs",
        "oldestLockAgeMs",
        "sessionRemainingMs",
    }
)

Fleet = tuple[KproxyProcess, KproxyProcess]


@pytest.fixture(scope="module")
def two(reference_cluster: KafkaCluster) -> Iterator[Fleet]:
    """Two processes with state topics of their own."""
    settings = state_topic_settings()
    with (
        KproxyProcess(reference_cluster.bootstrap_servers, settings=settings) as first,
        KproxyProcess(reference_cluster.bootstrap_servers, settings=settings) as second,
    ):
        yield first, second


@pytest.fixture
def fleet(two: Fleet) -> Fleet:
    """Two processes, each of which owns half of the slots, also when one of them was replaced before."""
    for kproxy in two:
        kproxy.wait_until(lambda kproxy=kproxy: ready_slots(kproxy) == STATE_TOPIC_PARTITIONS // 2)  # type: ignore[misc]  # bound at once
        kproxy.wait_until_ready()
    return two


def ready_slots(kproxy: KproxyProcess) -> int:
    return int(kproxy.status()["fleet"]["slots"]["ready"])


def told(kproxy: KproxyProcess, *command: str) -> Any:
    """The JSON that a command prints."""
    result = CliRunner().invoke(cli, [*command, "--admin-url", kproxy.admin_url, "-o", "json"])
    return json.loads(result.stdout)


def comparable(told: Any) -> Any:
    """What is told without what goes on while it is asked for."""
    if isinstance(told, list):
        return [comparable(each) for each in told]
    if isinstance(told, dict):
        return {name: comparable(value) for name, value in told.items() if name not in GOING_ON}
    return told


def test_either_process_tells_the_same_of_all_groups(reference_cluster: KafkaCluster, fleet: Fleet) -> None:
    # Given
    topic = unique_name("seen")
    create_topic(reference_cluster.bootstrap_servers, topic)
    group_ids = sorted(unique_name("group") for _ in range(GROUPS))
    with ExitStack() as members:
        for number, group_id in enumerate(group_ids):
            address = fleet[number % 2].bootstrap_servers
            member = members.enter_context(RawShareMember(address, group=group_id, topic=topic))
            member.join_until_assigned(partitions=1)
            acquire(member, lambda: produce(reference_cluster.bootstrap_servers, topic, ["v"]))

        # When
        told_by_each = [
            [comparable(told(kproxy, *command)["items"]) for kproxy in fleet]
            for command in (
                ["groups", "list"],
                ["groups", "describe", "--all-groups"],
                ["sessions", "list"],
                ["in-flight", "list"],
            )
        ]
        slots = [list(live_slots(kproxy.admin_url)) for kproxy in fleet]

    # Then
    for first, second in told_by_each:
        assert first == second
        assert {str(item["groupId"]) for item in first} >= set(group_ids)  # other tests leave groups behind
    assert [slot.partition for slot in slots[0]] == list(range(STATE_TOPIC_PARTITIONS))
    assert slots[0] == slots[1]
    assert {state["groupId"] for slot in slots[0] for state in slot.states} >= set(group_ids)


def test_either_process_tells_how_each_of_them_sees_the_brokers(fleet: Fleet) -> None:
    # When
    told_by_each = [told(kproxy, "brokers")["items"] for kproxy in fleet]

    # Then
    seen = [
        [(each["nodeId"], each["process"], each["advertised"]) for each in items] for items in told_by_each
    ]
    names = {kproxy.status()["fleet"]["name"] for kproxy in fleet}
    assert seen[0] == seen[1]
    assert {process for _, process, _ in seen[0]} == names
    assert len({advertised for _, _, advertised in seen[0]}) == len(seen[0])
    assert all(each["connected"] for each in told_by_each[0])


def acquire(member: RawShareMember, produce_one: Callable[[], object]) -> None:
    """Let the member have a record in flight; its group begins at the end of the log, as soon as it is loaded."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not any(each.acquired_records for each in member.fetch(max_wait_ms=100)):
        assert time.monotonic() < deadline, "nothing was acquired"
        produce_one()


def test_who_listens_to_one_process_hears_of_a_group_that_another_one_serves(
    reference_cluster: KafkaCluster, fleet: Fleet
) -> None:
    # Given
    topic = unique_name("heard")
    create_topic(reference_cluster.bootstrap_servers, topic)
    names = {kproxy.status()["fleet"]["name"] for kproxy in fleet}
    group_ids = {group_of_slot(slot) for slot in range(STATE_TOPIC_PARTITIONS)}
    with ExitStack() as open_things:
        readers = [open_things.enter_context(events_of(kproxy)) for kproxy in fleet]
        for reader in readers:
            told_until(reader, lambda name, data: name == "peer" and data["state"] == "heard")

        # When
        for group_id in group_ids:
            member = RawShareMember(fleet[0].bootstrap_servers, group=group_id, topic=topic)
            open_things.enter_context(member).join_until_assigned(partitions=1)
        told_by_each = [groups_added(reader, group_ids) for reader in readers]

    # Then
    assert told_by_each[0] == told_by_each[1]
    assert set(told_by_each[0].values()) == names


def group_of_slot(slot: int) -> str:
    """A new id of a group that lives in this slot."""
    names = (unique_name("group") for _ in range(1_000))
    return next(name for name in names if group_partition(GroupId(name), STATE_TOPIC_PARTITIONS) == slot)


def events_of(kproxy: KproxyProcess) -> HTTPResponse:
    """The open stream of a process's events; each event has to come within PATIENCE_SECONDS."""
    response = urlopen(f"{kproxy.admin_url}/api/v1/events", timeout=PATIENCE_SECONDS)
    assert isinstance(response, HTTPResponse)
    return response


def told_until(reader: HTTPResponse, is_last: Callable[[str, dict[str, Any]], bool]) -> None:
    """Read events up to one of which `is_last` says so."""
    name, deadline = "", time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        field, _, value = reader.readline().decode().rstrip("\n").partition(": ")
        name = value if field == "event" else name
        if field == "data" and is_last(name, json.loads(value)):
            return
    pytest.fail("what was waited for has not been told")


def groups_added(reader: HTTPResponse, group_ids: set[str]) -> dict[str, str]:
    """Which process told of each of these groups that it was added."""
    told_of: dict[str, str] = {}

    def note(name: str, data: dict[str, Any]) -> bool:
        if name == "group" and data["change"] == "added" and data["groupId"] in group_ids:
            told_of[data["groupId"]] = data["process"]
        return len(told_of) == len(group_ids)

    told_until(reader, note)
    return told_of


def test_a_process_that_hangs_is_told_of_until_it_is_replaced(fleet: Fleet) -> None:
    # Given
    first, second = fleet

    # When
    second.pause()
    while_it_hangs = CliRunner().invoke(cli, ["sessions", "list", "--admin-url", first.admin_url])
    first.wait_until(lambda: ready_slots(first) == STATE_TOPIC_PARTITIONS, timeout_seconds=PATIENCE_SECONDS)
    replaced = CliRunner().invoke(cli, ["sessions", "list", "--admin-url", first.admin_url])
    second.resume()

    # Then
    assert (while_it_hangs.exit_code, replaced.exit_code) == (1, 0)
    assert "not the whole truth: " in while_it_hangs.stderr
    assert "shows nothing within 2000 ms" in while_it_hangs.stderr


def test_the_status_tells_who_is_in_the_fleet(fleet: Fleet) -> None:
    # When
    views = [kproxy.status()["fleet"] for kproxy in fleet]
    metrics = [kproxy.metrics() for kproxy in fleet]

    # Then
    assert [[member["slotsOwned"] for member in view["members"]] for view in views] == [[2, 2], [2, 2]]
    assert [sum(member["thisProcess"] for member in view["members"]) for view in views] == [1, 1]
    assert views[0]["mapEpoch"] == views[1]["mapEpoch"]
    assert all(view["leaseMs"] > 0 for view in views)
    assert [each.value("kproxy_fleet_members", state="owning") for each in metrics] == [2, 2]
