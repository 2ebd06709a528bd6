"""A former owner of a slot and its next one: what the former one had sent does not count, however late it lands."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Final

import pytest
from confluent_kafka import KafkaException

from kproxy.error_codes import ErrorCode
from kproxy.statelog.group_log_fold import GroupLogFold
from kproxy.statelog.state_log_fold import Outcome, StateLogFold
from tests.real_kafka import administration, log_reading
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.expiring_producers import EXPIRING_PRODUCERS
from tests.real_kafka.faulty_forwarder import FaultyForwarder
from tests.real_kafka.kproxy_fleet import KproxyFleet, group_in_slot, slot_of
from tests.real_kafka.kproxy_process import KproxyProcess, state_topic_settings
from tests.real_kafka.log_reading import PartitionLog
from tests.real_kafka.logged_errors import logged_errors
from tests.real_kafka.node_settings import CLIENT_LISTENER
from tests.real_kafka.raw_share_member import RawShareMember

pytestmark = pytest.mark.soak

ACCEPT: Final = 1
RECORDS: Final = 20
TIMEOUT_SECONDS: Final = 40.0
POLL_SECONDS: Final = 0.05
LOCK: Final = "share.record.lock.duration.ms"
FROM_THE_FORMER_OWNER: Final = "16016"
FROM_THE_NEXT_ONE: Final = "17017"
COMPACTED_AT_ONCE: Final = {
    "min.compaction.lag.ms": "0",
    "max.compaction.lag.ms": "100",
    "min.cleanable.dirty.ratio": "0.001",
    "segment.ms": "100",
}
NOT_ANSWERED_AS_DURABLE: Final = frozenset(
    {ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE}
)


@dataclass(frozen=True, slots=True)
class Scene:
    """A broker behind a forwarder, and a topic with records."""

    cluster: KafkaCluster
    forwarder: FaultyForwarder
    topic: str
    group: str
    settings: Mapping[str, str | int]

    @property
    def slot(self) -> int:
        """The slot of the group."""
        return slot_of(self.group)

    def logs(self, which: str) -> dict[int, PartitionLog]:
        """One of the state topics, `state` or `groups`, as it stands."""
        return asyncio.run(
            log_reading.read_topic(self.cluster, str(self.settings[f"kproxy.{which}.topic.name"]))
        )


@contextmanager
def scene(broker_settings: Mapping[str, int]) -> Iterator[Scene]:
    with FaultyForwarder() as forwarder:
        advertised = {"advertised.listeners": f"{CLIENT_LISTENER}://{forwarder.address}"}
        with KafkaCluster(broker_settings={**advertised, **broker_settings}) as cluster:
            forwarder.target = cluster.broker_address(1)
            topic = administration.create_topic(cluster.bootstrap_servers, unique_name("duel"))
            administration.produce(cluster.bootstrap_servers, topic, [f"{n}" for n in range(RECORDS)])
            yield Scene(cluster, forwarder, topic, unique_name("duellists"), state_topic_settings())


@pytest.mark.parametrize(
    ("brokers", "late_count"), [({}, 0), (EXPIRING_PRODUCERS, 1)], ids=["producers-kept", "producers-expired"]
)
def test_what_a_frozen_owner_had_acknowledged_does_not_count_once_another_one_has_claimed(
    brokers: Mapping[str, int], late_count: int
) -> None:
    # Given
    with scene(brokers) as here, _kproxy(here) as old, ExitStack() as stack:
        threads = stack.enter_context(ThreadPoolExecutor())
        _set_lock(old, here.group, "15000")
        before = stack.enter_context(_joined(old, here, "before"))
        assert before.acknowledge(0, 4, ACCEPT) == ErrorCode.NONE
        here.forwarder.hold_from(here.group.encode())
        late_answer = threads.submit(before.acknowledge, 5, 9, ACCEPT)
        with _next_owner(here, old, held=here.group) as fleet:
            after = stack.enter_context(_joined(fleet.kproxies[1], here, "after"))
            assert after.acknowledge(5, 6, ACCEPT) == ErrorCode.NONE

            # When
            _let_land(here, old)

            # Then
            assert late_answer.result(TIMEOUT_SECONDS) in NOT_ANSWERED_AS_DURABLE
            _until(lambda: _late_records(here) == [late_count, 0])
            fleet.wait_until_shared_out()
            after.close()
            _accept_the_rest(fleet, here)
            _require_same_state(fleet, here)
            assert _late_records(here) == [late_count, 0]
            assert logged_errors(*fleet.kproxies) == []


def test_a_late_record_of_the_groups_topic_is_not_what_compaction_leaves() -> None:
    # Given
    with scene(EXPIRING_PRODUCERS) as here, _kproxy(here) as old, ExitStack() as stack:
        threads = stack.enter_context(ThreadPoolExecutor())
        _set_lock(old, here.group, "15000")
        here.forwarder.hold_from(FROM_THE_FORMER_OWNER.encode())
        late_change = threads.submit(_set_lock, old, here.group, FROM_THE_FORMER_OWNER)
        with _next_owner(here, old, held=FROM_THE_FORMER_OWNER) as fleet:
            _set_lock(fleet.kproxies[1], here.group, FROM_THE_NEXT_ONE)

            # When
            _let_land(here, old)

            # Then
            assert late_change.exception(TIMEOUT_SECONDS) is not None
            _until(lambda: _late_records(here)[1] > 0)
            fleet.wait_until_shared_out()
            _compact(fleet, here)
            assert _locks(here) == {FROM_THE_NEXT_ONE}
            assert logged_errors(*fleet.kproxies) == []


@contextmanager
def _next_owner(here: Scene, old: KproxyProcess, *, held: str) -> Iterator[KproxyFleet]:
    """Freeze the owner with a request that the forwarder holds; yield it with another one, which owns every slot."""
    _until(lambda: here.forwarder.is_holding(held.encode()))
    old.pause()
    with _kproxy(here) as new:
        fleet = KproxyFleet(here.cluster, [old, new], here.settings)
        new.wait_until(lambda: new.owned_slots() == set(fleet.slots))
        yield fleet


def _let_land(here: Scene, old: KproxyProcess) -> None:
    here.forwarder.release()
    old.resume()


def _kproxy(scene: Scene) -> KproxyProcess:
    kproxy = KproxyProcess(scene.cluster.bootstrap_servers, settings=scene.settings)
    try:
        kproxy.wait_until_ready()
    except BaseException:
        kproxy.kill()
        raise
    return kproxy


def _set_lock(kproxy: KproxyProcess, group: str, lock_ms: str) -> None:
    administration.set_group_settings(
        kproxy.bootstrap_servers, group, {"share.auto.offset.reset": "earliest", LOCK: lock_ms}
    )


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


def _accept_the_rest(fleet: KproxyFleet, scene: Scene) -> None:
    with _joined(fleet.owner_of(scene.group), scene, "last") as last:
        assert last.acknowledge(7, RECORDS - 1, ACCEPT) == ErrorCode.NONE


def _until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(POLL_SECONDS)


def _late_records(scene: Scene) -> list[int]:
    """How many records of the state topic, and of the groups topic, stand behind a claim newer than their own."""
    states, groups = StateLogFold(), GroupLogFold()
    outcomes = (
        [states.apply(record) for record in scene.logs("state")[scene.slot].records],
        [groups.replay(record) for record in scene.logs("groups")[scene.slot].records],
    )
    return [of_topic.count(Outcome.IGNORED_STALE_CLAIM) for of_topic in outcomes]


def _require_same_state(fleet: KproxyFleet, scene: Scene) -> None:
    """The log, folded offline, says what its owner says; and nobody's acknowledgement counts twice."""
    replayed = log_reading.replay(scene.logs("state"))
    [(key, state)] = replayed.states.items()
    assert replayed.contradictions == []
    assert replayed.accepted[key] == set(range(RECORDS))
    shown = fleet.owner_of(scene.group).state_items(scene.slot)
    assert [(item["groupId"], item["startOffset"], item["leaderEpoch"]) for item in shown] == [
        (key.group_id, state.start_offset, state.leader_epoch)
    ]
    assert replayed.outcomes.get(Outcome.SKIPPED_CORRUPT, 0) == 0


def _compact(fleet: KproxyFleet, scene: Scene) -> None:
    """Let the groups topic be compacted up to what is written here. The active segment never is."""
    topic = str(scene.settings["kproxy.groups.topic.name"])
    before = scene.logs("groups")[scene.slot].records[-1].offset
    administration.set_topic_settings(scene.cluster.bootstrap_servers, topic, COMPACTED_AT_ONCE)

    def is_compacted() -> bool:
        owner = fleet.owner_of(scene.group)
        with suppress(
            KafkaException
        ):  # the slot is read again when an append has landed behind a late record
            _set_lock(owner, group_in_slot(scene.slot), "15000")
        offsets = [record.offset for record in scene.logs("groups")[scene.slot].records]
        return len([offset for offset in offsets if offset <= before]) < before / 2

    _until(is_compacted)


def _locks(scene: Scene) -> set[str]:
    """What a start would read from the groups topic."""
    folds = log_reading.replay_groups(scene.logs("groups"))
    return {fold.configs()[scene.group][LOCK] for fold in folds if scene.group in fold.configs()}
