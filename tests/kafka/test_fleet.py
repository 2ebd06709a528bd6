"""Several kproxies in front of one cluster serve share groups as one, whichever of them a member is connected to."""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Self

import pytest

from kproxy.net.cluster.coordinators import CoordinatorKind, find_coordinator
from tests.real_kafka import accounts, administration
from tests.real_kafka.accounts import RecordId, misaccounted
from tests.real_kafka.administration import unique_name
from tests.real_kafka.backing_topics import looking_at
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.consumption import Delivery, accept, consume_together, settled
from tests.real_kafka.kproxy_fleet import KproxyFleet, group_in_slot, kproxy_fleet
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.logged_errors import logged_errors
from tests.real_kafka.session_clusters import ClusterOfSession
from tests.real_kafka.share_member import AcknowledgeType, ShareMember
from tests.real_kafka.share_members import MEMBER_KINDS
from tests.real_kafka.versions import OLDEST, REFERENCE
from tests.worlds.certificate_authority import CertificateAuthority

PARTITIONS: Final = 4
RECORDS_EACH: Final = 40
TIMEOUT_SECONDS: Final = 90.0
ROUNDS: Final = 5
SETTINGS: Final = {"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": "15000"}
NOBODY: Final = "192.0.2.1"
"""TEST-NET-1: no host has an address of it."""
SERVICE_UNAVAILABLE: Final = 503


@pytest.fixture(scope="module")
def three(kafka_cluster: ClusterOfSession) -> Iterator[KproxyFleet]:
    with kproxy_fleet(kafka_cluster(REFERENCE.version), 3) as fleet:
        yield fleet


# ---- all as one


def test_each_record_of_three_groups_and_of_one_shared_by_all_is_accepted_once(three: KproxyFleet) -> None:
    # Given
    groups = [three.new_group_of(kproxy) for kproxy in three.kproxies]
    shared = three.new_group_of(three.kproxies[0])
    one, two, last = three.kproxies
    at_work = {
        groups[0]: [("confluent", one), ("java", two)],
        groups[1]: [("confluent", two), ("java", last)],
        groups[2]: [("java", last), ("confluent", one)],
        shared: [("confluent", one), ("java", two), ("confluent", last)],
    }

    # When
    work = {group: Work(three, group, members) for group, members in at_work.items()}
    _do_together(list(work.values()))

    # Then
    for each in work.values():
        assert misaccounted(each.deliveries, each.produced) == {}
    assert {delivery.member for delivery in work[shared].deliveries} == {0, 1, 2}, "each process had some"
    assert [three.owner_of(group) for group in groups] == three.kproxies
    assert logged_errors(*three.kproxies) == []


@pytest.mark.soak
def test_two_kproxies_in_front_of_the_oldest_kafka_are_one(kafka_cluster: ClusterOfSession) -> None:
    # Given
    with kproxy_fleet(kafka_cluster(OLDEST.version), 2) as fleet:
        work = [
            Work(fleet, fleet.new_group_of(owner), [("confluent", kproxy) for kproxy in fleet.kproxies])
            for owner in fleet.kproxies
        ]

        # When
        _do_together(work)

    # Then
    for each in work:
        assert misaccounted(each.deliveries, each.produced) == {}
        assert {delivery.member for delivery in each.deliveries} == {0, 1}


def test_two_kproxies_that_speak_mutual_tls_are_one(kafka_cluster: ClusterOfSession, tmp_path: Path) -> None:
    # Given
    authority = CertificateAuthority(tmp_path, "fleet")
    keys = authority.issue("kproxy", hosts=())
    settings = {
        "kproxy.fleet.ssl.keystore.location": f"{keys.certificate},{keys.key}",
        "kproxy.fleet.ssl.truststore.location": str(authority.file),
    }
    with kproxy_fleet(kafka_cluster(REFERENCE.version), 2, settings=settings) as fleet:
        near, owner = fleet.kproxies
        work = Work(fleet, fleet.new_group_of(owner), [("confluent", near)])

        # When
        work.do()

        # Then
        assert misaccounted(work.deliveries, work.produced) == {}
        assert logged_errors(*fleet.kproxies) == []
        for kproxy in fleet.kproxies:
            roles = {certificate["role"] for certificate in kproxy.status()["certificates"]}
            assert roles == {"fleet", "fleet_trust"}


# ---- trouble of one slot is its own


def test_groups_of_other_slots_go_on_while_a_process_is_frozen(three: KproxyFleet) -> None:
    # Given
    frozen, *others = three.kproxies
    groups = [three.new_group_of(other) for other in others]
    with ExitStack() as stack:
        beside = [
            stack.enter_context(Steadfast(three.cluster, other, group))
            for other, group in zip(others, groups, strict=True)
        ]
        for each in beside:
            each.accept_one()

        # When
        frozen.pause()
        stack.callback(three.wait_until_shared_out)
        stack.callback(frozen.resume)

        # Then
        for _ in range(ROUNDS):
            for each in beside:
                each.accept_one()


@pytest.mark.soak
def test_groups_of_other_slots_go_on_while_the_leader_of_one_slots_log_is_away() -> None:
    # Given
    with KafkaCluster(brokers=3) as cluster, kproxy_fleet(cluster, 2) as fleet, ExitStack() as stack:
        leaders = {slot: _leader(cluster, fleet.state_topic, slot) for slot in fleet.slots}
        coordinator = asyncio.run(_coordinator(cluster, fleet.state_topic))
        away = next(node_id for node_id in cluster.node_ids if node_id != coordinator)
        struck = next(slot for slot, leader in leaders.items() if leader == away)
        spared = [slot for slot in fleet.slots if away not in (leaders[slot], _groups_leader(fleet, slot))]
        beside = [
            stack.enter_context(Steadfast(cluster, fleet.owner_of(group), group, not_led_by=away))
            for group in map(group_in_slot, spared)
        ]
        assert beside, leaders
        for each in beside:
            each.accept_one()

        # When
        cluster.kill_broker(away)

        # Then
        for _ in range(ROUNDS):
            for each in beside:
                each.accept_one()
        owners = [kproxy for kproxy in fleet.kproxies if struck in kproxy.owned_slots()]
        assert len(owners) <= 1


# ---- several fleets


@pytest.mark.soak
def test_two_fleets_with_topics_of_their_own_do_not_know_of_each_other(
    kafka_cluster: ClusterOfSession, three: KproxyFleet
) -> None:
    # Given
    with kproxy_fleet(kafka_cluster(REFERENCE.version), 2) as other:
        group = three.new_group_of(three.kproxies[0])
        work = [Work(fleet, group, [("confluent", fleet.owner_of(group))]) for fleet in (three, other)]

        # When
        _do_together(work)

        # Then
        for each in work:
            assert misaccounted(each.deliveries, each.produced) == {}
        other.wait_until_shared_out()
        three.wait_until_shared_out()


def test_a_second_fleet_with_the_same_topics_is_refused_and_the_first_one_undisturbed(
    kafka_cluster: ClusterOfSession, three: KproxyFleet
) -> None:
    # Given
    first = three.kproxies[0]
    owned = [kproxy.owned_slots() for kproxy in three.kproxies]
    stranger_settings = {**three.settings, "kproxy.fleet.group": "another-fleet"}

    # When
    with KproxyProcess(three.cluster.bootstrap_servers, settings=stranger_settings) as stranger:
        stranger.wait_until(lambda: "another fleet serves from" in _problem_of(stranger))

        # Then
        problem = _problem_of(stranger)
        assert "'another-fleet'" in problem
        assert f"'{three.state_topic}'" in problem, "the group of the first"
        assert "kproxy.fleet.group" in problem, "what to do"
        assert stranger.readiness().status == SERVICE_UNAVAILABLE
    with Steadfast(three.cluster, first, three.new_group_of(first)) as member:
        member.accept_one()
    assert [kproxy.owned_slots() for kproxy in three.kproxies] == owned
    assert logged_errors(*three.kproxies) == []


@pytest.mark.soak
def test_a_process_that_the_others_cannot_reach_is_named_in_one_line(kafka_cluster: ClusterOfSession) -> None:
    # Given
    with kproxy_fleet(kafka_cluster(REFERENCE.version), 1) as fleet:
        [first] = fleet.kproxies
        settings = {**fleet.settings, "kproxy.fleet.advertised.host": NOBODY}

        # When
        with KproxyProcess(fleet.cluster.bootstrap_servers, settings=settings) as unreachable:
            first.wait_until(lambda: bool(first.log_events("fleet_member_refused")))
            unreachable.wait_until(lambda: bool(unreachable.log_events("fleet_map")))

            # Then
            [line] = first.log_events(level="warning")
            assert f"process {unreachable.process_id} " in line["member"]
            assert f"{NOBODY}:" in line["reason"]
            assert first.owned_slots() == set(fleet.slots)
            assert unreachable.owned_slots() == set()


# ---- who works


class Work:
    """Members of one group, by the kind of client and the kproxy of each; and what is produced for them."""

    def __init__(self, fleet: KproxyFleet, group: str, members: Sequence[tuple[str, KproxyProcess]]) -> None:
        administration.set_group_settings(fleet.owner_of(group).bootstrap_servers, group, SETTINGS)
        self._fleet, self._group, self._members = fleet, group, members
        self._topic = administration.create_topic(
            fleet.cluster.bootstrap_servers, unique_name("of-a-fleet"), partitions=PARTITIONS
        )
        self.produced: dict[RecordId, str] = {}
        self.deliveries: list[Delivery] = []

    def do(self) -> None:
        """Let the members accept everything that is produced once each has partitions."""
        with ExitStack() as stack:
            started = [stack.enter_context(self._started(kind, kproxy)) for kind, kproxy in self._members]
            consuming = stack.enter_context(ThreadPoolExecutor(1)).submit(
                consume_together,
                started,
                accept,
                until=settled(PARTITIONS * RECORDS_EACH),
                timeout_seconds=TIMEOUT_SECONDS,
            )
            self._fleet.owner_of(self._group).wait_until(lambda: consuming.done() or self._is_assigned())
            self.produced = accounts.produce_to_every_partition(
                self._fleet.cluster.bootstrap_servers,
                self._topic,
                partitions=PARTITIONS,
                each=RECORDS_EACH,
                batches=RECORDS_EACH // 2,
            )
            self.deliveries = consuming.result()

    def _is_assigned(self) -> bool:
        members = self._fleet.owner_of(self._group).group_item(self._group).get("members", ())
        return len(members) == len(self._members) and all(member["assignment"] for member in members)

    def _started(self, kind: str, kproxy: KproxyProcess) -> ShareMember:
        return MEMBER_KINDS[kind](kproxy.bootstrap_servers, group=self._group, topics=[self._topic])


class Steadfast:
    """One member of a group with a topic of its own, from `with` to its end."""

    def __init__(
        self, cluster: KafkaCluster, kproxy: KproxyProcess, group: str, *, not_led_by: int | None = None
    ) -> None:
        self._cluster = cluster
        self._topic = _topic_led_elsewhere(cluster, not_led_by)
        administration.set_group_settings(kproxy.bootstrap_servers, group, SETTINGS)
        self._member = MEMBER_KINDS["confluent"](
            kproxy.bootstrap_servers, group=group, topics=[self._topic], settings={"fetch.wait.max.ms": "100"}
        )

    def accept_one(self) -> None:
        """Produce one record and accept it, with an answer."""
        [offset] = administration.produce(self._cluster.bootstrap_servers, self._topic, ["one"])
        [record] = self._member.poll_until_records()
        assert record.offset == offset
        self._member.acknowledge_all(AcknowledgeType.ACCEPT)
        assert [outcome.error for outcome in self._member.commit()] == [None]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._member.kill()


def _do_together(work: Sequence[Work]) -> None:
    with ThreadPoolExecutor(len(work)) as threads:
        list(threads.map(Work.do, work))


def _problem_of(kproxy: KproxyProcess) -> str:
    return str(kproxy.status()["shareGroups"]["reason"])


# ---- which broker does what


def _leader(cluster: KafkaCluster, topic: str, partition: int) -> int:
    return administration.leader_of(cluster.bootstrap_servers, topic, partition)


def _groups_leader(fleet: KproxyFleet, slot: int) -> int:
    return _leader(fleet.cluster, str(fleet.settings["kproxy.groups.topic.name"]), slot)


async def _coordinator(cluster: KafkaCluster, group: str) -> int:
    async with looking_at(cluster) as backing:
        await backing.metadata.refresh()
        return await find_coordinator(backing.metadata, CoordinatorKind.GROUP, group)


def _topic_led_elsewhere(cluster: KafkaCluster, node_id: int | None) -> str:
    while True:
        topic = administration.create_topic(cluster.bootstrap_servers, unique_name("of-a-fleet"))
        if _leader(cluster, topic, 0) != node_id:
            return topic
