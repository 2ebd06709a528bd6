"""Two kproxies and one state log: the one that claimed last serves on, the other steps down, whatever it had sent."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

import pytest
from click.testing import CliRunner

from kproxy.cli.exit_codes import ExitCode
from kproxy.cli.main import cli
from kproxy.error_codes import ErrorCode
from kproxy.statelog.state_log_fold import Outcome
from tests.real_kafka import administration, log_reading
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.faulty_forwarder import FaultyForwarder
from tests.real_kafka.kproxy_process import KproxyProcess, MetricValues, state_topic_settings
from tests.real_kafka.node_settings import CLIENT_LISTENER
from tests.real_kafka.raw_share_member import RawShareMember

ACCEPT: Final = 1
RECORDS: Final = 20
TIMEOUT_SECONDS: Final = 30.0
SERVICE_UNAVAILABLE: Final = 503


@dataclass(frozen=True, slots=True)
class Scene:
    """A broker behind a forwarder, and a topic with records."""

    cluster: KafkaCluster
    forwarder: FaultyForwarder
    topic: str
    group: str
    settings: dict[str, str | int]


@pytest.fixture
def scene() -> Iterator[Scene]:
    with FaultyForwarder() as forwarder:
        advertised = {"advertised.listeners": f"{CLIENT_LISTENER}://{forwarder.address}"}
        with KafkaCluster(broker_settings=advertised) as cluster:
            forwarder.target = cluster.broker_address(1)
            topic = administration.create_topic(cluster.bootstrap_servers, unique_name("duel"))
            administration.produce(cluster.bootstrap_servers, topic, [f"{n}" for n in range(RECORDS)])
            yield Scene(cluster, forwarder, topic, unique_name("duellists"), state_topic_settings())


def test_a_batch_that_a_frozen_owner_had_sent_does_not_count_once_another_one_has_claimed(
    scene: Scene,
) -> None:
    # Given
    forwarder = scene.forwarder
    with _kproxy(scene) as old, ThreadPoolExecutor() as threads, ExitStack() as members:
        administration.set_group_settings(
            old.bootstrap_servers, scene.group, {"share.auto.offset.reset": "earliest"}
        )
        before = members.enter_context(_joined(old, scene, "before"))
        assert before.acknowledge(0, 4, ACCEPT) == ErrorCode.NONE
        forwarder.hold()
        late_answer = threads.submit(before.acknowledge, 5, 9, ACCEPT)
        _wait_until_held(forwarder, scene.group.encode())
        old.pause()
        with _kproxy(scene) as new:
            after = members.enter_context(_joined(new, scene, "after"))
            assert after.acknowledge(5, 6, ACCEPT) == ErrorCode.NONE

            # When
            forwarder.release()
            old.resume()

            # Then
            assert late_answer.result(TIMEOUT_SECONDS) == ErrorCode.NOT_LEADER_OR_FOLLOWER
            assert after.acknowledge(7, RECORDS - 1, ACCEPT) == ErrorCode.NONE
            old.wait_until(lambda: len(old.log_events("slot_stepped_down", level="error")) == 1)
            old.wait_until(lambda: old.readiness().status == SERVICE_UNAVAILABLE)
            assert _stepped_down(old) >= 1
            assert _stepped_down(new) == 0
            assert new.log_events(level="error") == []
            new.wait_until_ready()
            _require_same_state(scene, new)


def test_whoever_is_overtaken_with_nothing_to_do_says_so_within_seconds_and_by_whom(scene: Scene) -> None:
    # Given
    with _kproxy(scene) as old:
        administration.set_group_settings(
            old.bootstrap_servers, scene.group, {"share.auto.offset.reset": "earliest"}
        )
        assert old.status()["shareGroups"]["state"] == "on"

        # When
        with _kproxy(scene) as new:
            # Then
            old.wait_until(lambda: old.readiness().status == SERVICE_UNAVAILABLE)
            old.wait_until(lambda: bool(old.log_events("slot_stepped_down")))
            status = old.status()
            described = CliRunner().invoke(
                cli, ["groups", "describe", scene.group, "--admin-url", old.admin_url]
            )
            [stepped_down] = old.log_events("slot_stepped_down", level="error")
            [warning] = new.log_events(level="warning")
            assert (warning["event"], f"process {old.process_id} " in warning["owner"]) == (
                "living_owner_found",
                True,
            )
            new_owner = f"process {new.process_id} "
            assert new_owner in stepped_down["new_owner"]
            assert (status["state"], status["shareGroups"]["state"]) == ("not-ready", "unavailable")
            assert new_owner in status["shareGroups"]["reason"]
            assert [problem["check"] for problem in status["problems"]] == ["state_log"]
            assert described.exit_code == ExitCode.FAILED
            assert new_owner in described.stderr
            assert old.is_alive()
            assert new.drain() == 0
        with _kproxy(scene) as next_one:
            assert next_one.log_events(level="warning") == [], "who ended in order is not alive"


def _kproxy(scene: Scene) -> KproxyProcess:
    kproxy = KproxyProcess(scene.cluster.bootstrap_servers, settings=scene.settings)
    try:
        kproxy.wait_until_ready()
    except BaseException:
        kproxy.kill()
        raise
    return kproxy


def _joined(kproxy: KproxyProcess, scene: Scene, member_id: str) -> RawShareMember:
    """A member that has every record that is to be had."""
    member = RawShareMember(
        kproxy.broker_addresses[1], group=scene.group, topic=scene.topic, member_id=member_id
    )
    member.join()
    [fetched] = member.fetch(max_wait_ms=int(TIMEOUT_SECONDS * 1000))
    assert fetched.error_code == ErrorCode.NONE
    assert fetched.acquired_records[-1].last_offset == RECORDS - 1
    return member


def _wait_until_held(forwarder: FaultyForwarder, content: bytes) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not forwarder.is_holding(content):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _stepped_down(kproxy: KproxyProcess) -> float:
    metrics: MetricValues = kproxy.metrics()
    reasons = ("fenced", "foreign_write")
    return sum(metrics.value("kproxy_statelog_rebuilds_total", reason=reason) for reason in reasons)


def _require_same_state(scene: Scene, owner: KproxyProcess) -> None:
    """The log, folded offline, says what its owner says; and nobody's acknowledgement counts twice."""
    logs = asyncio.run(log_reading.read_topic(scene.cluster, str(scene.settings["kproxy.state.topic.name"])))
    replayed = log_reading.replay(logs)
    [(key, state)] = replayed.states.items()
    assert replayed.contradictions == []
    assert replayed.accepted[key] == set(range(RECORDS))
    shown = [item for slot in range(len(logs)) for item in owner.state_items(slot)]
    assert [(item["groupId"], item["startOffset"], item["leaderEpoch"]) for item in shown] == [
        (key.group_id, state.start_offset, state.leader_epoch)
    ]
    assert replayed.outcomes.get(Outcome.SKIPPED_CORRUPT, 0) == 0
