"""A fleet of two is upgraded process by process and taken back, under load: nothing is lost, nothing is undone.

The two builds are this checkout and an earlier commit (`tests/real_kafka/builds.py`). As long as none was released they
are of one version, and differ in what their commits differ; both write the same format of the state log.
"""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from tests.misfortunes.checks import delivered_after_its_answer
from tests.misfortunes.gaps import longest_gap
from tests.real_kafka import administration
from tests.real_kafka.acceptances import Acceptances
from tests.real_kafka.accepter import QUICK_CLIENTS, Accepter
from tests.real_kafka.acquisitions import (
    FILE_VARIABLE,
    NOTING_MODULE,
    Acquisition,
    last_acquired_at,
    read_acquisitions,
)
from tests.real_kafka.administration import unique_name
from tests.real_kafka.builds import Build, NoEarlierBuild, earlier_build, this_build
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_fleet import group_in_slot
from tests.real_kafka.kproxy_process import (
    STATE_TOPIC_PARTITIONS,
    KproxyPorts,
    KproxyProcess,
    state_topic_settings,
)
from tests.real_kafka.logged_errors import logged_errors
from tests.real_kafka.session_clusters import QUICK_HEARTBEATS, ClusterOfSession
from tests.real_kafka.share_member import ShareMember
from tests.real_kafka.share_members import MEMBER_KINDS
from tests.real_kafka.steady_production import SteadyProduction
from tests.real_kafka.versions import REFERENCE

SEATS: Final = 2
PARTITIONS: Final = 2
KIND: Final = "confluent"
PATIENT_ERRORS: Final = 1_000
SETTLING_SECONDS: Final = 60.0
RECOVERY_SECONDS: Final = 60.0
QUIET_SECONDS: Final = 3.0
DRAIN_SECONDS: Final = 20.0
POLL_SECONDS: Final = 0.05
GROUP_SETTINGS: Final = {"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": "15000"}
LONGEST_GAP_SECONDS: Final = 10.0
"""What no group is without an answer. Processes that stop hand their slots over; nobody waits for a session to end."""


@dataclass
class Replacement:
    """One process in the place of another, and what that cost."""

    seat: int
    build: str
    drain_seconds: float
    ready_seconds: float
    exit_status: int
    gaps_seconds: list[float]


@dataclass
class Fleet:
    """Two places for processes, and who is in them."""

    cluster: KafkaCluster
    seats: Sequence[KproxyPorts]
    settings: dict[str, str | int]
    lives: ExitStack
    folder: Path
    kproxies: dict[int, KproxyProcess] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    """What the processes that were replaced had logged as errors."""

    def begin(self, seat: int, build: Build) -> None:
        """Start a process in a place; returns when it is ready."""
        kproxy = KproxyProcess(
            self.cluster.bootstrap_servers,
            node_ids=self.cluster.node_ids,
            settings=self.settings,
            environment={**build.environment, FILE_VARIABLE: str(self._notes(seat))},
            module=NOTING_MODULE,
            ports=self.seats[seat],
        )
        self.kproxies[seat] = self.lives.enter_context(kproxy)
        kproxy.wait_until_ready()

    def end(self, seat: int) -> int:
        """Let the process in a place drain; its exit status."""
        kproxy = self.kproxies[seat]
        status = kproxy.drain(timeout_seconds=DRAIN_SECONDS)
        self.errors += [str(line) for line in logged_errors(kproxy)]
        kproxy.stop()
        return status

    def acquisitions(self) -> list[Acquisition]:
        """Which records became somebody's, by the word of every process that was."""
        return [noted for seat in range(SEATS) for noted in read_acquisitions(self._notes(seat))]

    def _notes(self, seat: int) -> Path:
        return self.folder / f"acquisitions-{seat}"

    def wait_until_shared_out(self) -> None:
        """Return when both serve some slots, and each slot is served once; raises AssertionError."""
        deadline = time.monotonic() + SETTLING_SECONDS
        while True:
            owned = [kproxy.owned_slots() for kproxy in self.kproxies.values()]
            if all(owned) and sorted(slot for slots in owned for slot in slots) == list(
                range(STATE_TOPIC_PARTITIONS)
            ):
                return
            assert time.monotonic() < deadline, f"slots are not shared out: {owned}"
            time.sleep(POLL_SECONDS)


@dataclass
class Group:
    """A share group with a member behind each process."""

    topic: str
    accepters: list[Accepter]

    def answered_at(self) -> list[float]:
        return sorted(at for accepter in self.accepters for at in accepter.answered_at.copy())


@contextmanager
def fleet_of(cluster: KafkaCluster, build: Build, folder: Path) -> Iterator[Fleet]:
    """Yield two processes of a build that have shared out the slots."""
    with ExitStack() as stack:
        seats = [stack.enter_context(KproxyPorts(cluster.node_ids)) for _ in range(SEATS)]
        lives = stack.enter_context(ExitStack())
        fleet = Fleet(cluster, seats, {**QUICK_HEARTBEATS, **state_topic_settings()}, lives, folder)
        for seat in range(SEATS):
            fleet.begin(seat, build)
        fleet.wait_until_shared_out()
        yield fleet


@contextmanager
def at_work(fleet: Fleet, folder: Path) -> Iterator[tuple[Acceptances, list[Group]]]:
    """Yield a group in each slot, all of them at work: each member is connected to one process and no other."""
    servers = fleet.cluster.bootstrap_servers
    names = [group_in_slot(slot) for slot in range(STATE_TOPIC_PARTITIONS)]
    topics = [
        administration.create_topic(servers, unique_name("upgraded"), partitions=PARTITIONS) for _ in names
    ]
    production = SteadyProduction(
        servers,
        [(topic, number) for number in range(PARTITIONS) for topic in topics],
        in_turn=True,
        records_at_once=1,
    )
    with ExitStack() as stack:
        stack.enter_context(production)
        groups = []
        for name, topic in zip(names, topics, strict=True):
            administration.set_group_settings(fleet.seats[0].bootstrap_servers, name, GROUP_SETTINGS)
            accepters = [
                stack.enter_context(_accepter(seat, name, topic, folder / f"{name}-{number}"))
                for number, seat in enumerate(fleet.seats)
            ]
            groups.append(Group(topic, accepters))
        everybody = [accepter for group in groups for accepter in group.accepters]
        state_topic = str(fleet.settings["kproxy.state.topic.name"])
        yield Acceptances(fleet.cluster, state_topic, topics, everybody, production), groups


def _accepter(seat: KproxyPorts, group: str, topic: str, journal: Path) -> Accepter:
    def start(topics: Sequence[str]) -> ShareMember:
        return MEMBER_KINDS[KIND](
            seat.bootstrap_servers, group=group, topics=topics, settings=QUICK_CLIENTS[KIND]
        )

    return Accepter(start, [topic], journal, errors_in_a_row=PATIENT_ERRORS)


def wait_for_answers(groups: Sequence[Group], *, since: float) -> None:
    """Return when every member had an acceptance answered after `since`: those behind the new process, too."""
    deadline = time.monotonic() + RECOVERY_SECONDS
    accepters = [accepter for group in groups for accepter in group.accepters]
    while waiting := [each for each in accepters if not each.answered_at[-1:] > [since]]:
        assert time.monotonic() < deadline, [dict(each.errors) for each in waiting]
        time.sleep(POLL_SECONDS)


def replaced(fleet: Fleet, groups: Sequence[Group], seat: int, build: Build) -> Replacement:
    """Put a process of `build` into the place of the one that is there."""
    began = time.monotonic()
    status = fleet.end(seat)
    drained = time.monotonic()
    fleet.begin(seat, build)
    ready = time.monotonic()
    fleet.wait_until_shared_out()
    wait_for_answers(groups, since=time.monotonic())
    over = time.monotonic()
    time.sleep(QUIET_SECONDS)
    gaps = [round(longest_gap(group.answered_at(), began, over), 2) for group in groups]
    return Replacement(seat, build.name, round(drained - began, 2), round(ready - drained, 2), status, gaps)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_fleet_is_upgraded_and_taken_back_under_load_and_nothing_is_lost_or_undone(
    kafka_cluster: ClusterOfSession, tmp_path: Path
) -> None:
    # Given
    try:
        old, new = earlier_build(tmp_path / "earlier"), this_build()
    except NoEarlierBuild as missing:
        pytest.skip(str(missing))
    assert str(tmp_path) in old.version()
    assert str(tmp_path) not in new.version()
    print(f"from {old.name}: {old.version()}\nto   {new.name}: {new.version()}")
    with (
        fleet_of(kafka_cluster(REFERENCE.version), old, tmp_path) as fleet,
        at_work(fleet, tmp_path) as (load, groups),
    ):
        wait_for_answers(groups, since=time.monotonic())
        quiet_since = time.monotonic()
        time.sleep(QUIET_SECONDS)
        usual = [
            round(longest_gap(group.answered_at(), quiet_since, time.monotonic()), 2) for group in groups
        ]

        # When: there, and back
        replacements = [replaced(fleet, groups, seat, build) for build in (new, old) for seat in range(SEATS)]

        # Then
        load.wait_until_calm()
        receipts = [receipt for accepter in load.accepters for receipt in accepter.received]
        redelivered = len(receipts) - len({receipt.record for receipt in receipts})
        print(
            json.dumps(
                {
                    "usual gaps, s": usual,
                    "replacements": [vars(each) for each in replacements],
                    "records produced": len(load.production.produced),
                    "records delivered again": redelivered,
                    "errors of members": dict(load.errors()),
                },
                indent=2,
            )
        )
        load.require_in_order(load.read_log(), may_be_answered_late=True)
        acquired_at = last_acquired_at(fleet.acquisitions(), load.names_by_id())
        assert {receipt.record for receipt in receipts} <= acquired_at.keys()
        assert delivered_after_its_answer(receipts, load.answers(), acquired_at) == []
        assert load.restarts() == []
        assert [each.exit_status for each in replacements] == [0] * len(replacements)
        assert max(gap for each in replacements for gap in each.gaps_seconds) < LONGEST_GAP_SECONDS
        assert fleet.errors == []
