"""One run: share groups at work while connections fail, and the accounts afterwards."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import FindCoordinatorResponse
from tests.faults import leftovers
from tests.faults.fault_proxy import Address, Door, FaultProxy
from tests.faults.kinds import Kind, Link
from tests.faults.script import PRODUCER
from tests.faults.strangers import Place, Strangers
from tests.faults.watched_kproxy import Held, WatchedKproxy
from tests.misfortunes import checks
from tests.misfortunes.kept_story import keep_story
from tests.misfortunes.load import PATIENT_ERRORS
from tests.real_kafka import administration
from tests.real_kafka.acceptances import Acceptances
from tests.real_kafka.accepter import QUICK_CLIENTS, Accepter
from tests.real_kafka.acquisitions import last_acquired_at
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import state_topic_settings
from tests.real_kafka.paths import kept_logs_folder
from tests.real_kafka.ports import LOOPBACK
from tests.real_kafka.raw_connection import RawConnection
from tests.real_kafka.raw_share_member import FIND_COORDINATOR_VERSION
from tests.real_kafka.share_endpoint import BRIEF_LOCK_MS, QUICK_GROUPS
from tests.real_kafka.share_member import ShareMember
from tests.real_kafka.share_members import MEMBER_KINDS
from tests.real_kafka.steady_production import SteadyProduction

FAULTY_HOST: Final = "127.80.0.1"
"""Where fault proxies listen, on the port of whom they stand for; whoever is told an address is told this host.

Nobody else uses this address of the loopback interface, so its ports are free.
"""

BROKERS: Final = 2
GROUPS: Final = 2
PARTITIONS: Final = 4
KINDS: Final = ("confluent", "confluent", "confluent", "java")
"""Of members; two for each group."""
MEMBERS_OF_GROUP: Final = 2

WARM_UP_SECONDS: Final = 5.0
FIRST_ANSWER_SECONDS: Final = 60.0
LEAVING_SECONDS: Final = 60.0
"""Within which all must be let go of: the longest deadline of this kproxy is 15 s."""
LOOK_SECONDS: Final = 1.0
RARE_SECONDS: Final = 240.0
"""How much longer connections fail, at most, when some kind of fault has not struck yet.

What befalls strangers alone strikes some four times a minute, so one minute in fifty has none of it.
"""

KPROXY_SETTINGS: Final[dict[str, str | int]] = {
    **QUICK_GROUPS,
    "group.share.max.delivery.count.limit": 25,
    "kproxy.advertised.host": FAULTY_HOST,
    "kproxy.connect.timeout.ms": 2_000,
    "kproxy.frame.deadline.ms": 5_000,
    "kproxy.handshake.deadline.ms": 5_000,
    "kproxy.keepalive.ms": 3_000,
    "connections.max.idle.ms": 15_000,
}
GROUP_SETTINGS: Final = {
    "share.auto.offset.reset": "earliest",
    "share.record.lock.duration.ms": str(BRIEF_LOCK_MS),
    # Each fault may cost a delivery, and a record that is archived was not accepted.
    "share.delivery.count.limit": "25",
}
CLIENT_SETTINGS: Final = {
    "confluent": {**QUICK_CLIENTS["confluent"], "socket.timeout.ms": "4000", "log_level": "0"},
    "java": {**QUICK_CLIENTS["java"], "request.timeout.ms": "4000", "default.api.timeout.ms": "8000"},
}

Tell = Callable[[str], None]


@dataclass(slots=True)
class Ground:
    """What runs, and what was held at its quietest."""

    cluster: KafkaCluster
    kproxy: WatchedKproxy
    to_brokers: FaultProxy
    to_kproxy: FaultProxy
    state_topic: str

    @property
    def bootstrap_servers(self) -> str:
        """What clients are given."""
        return f"{FAULTY_HOST}:{self.kproxy.bootstrap_servers.rpartition(':')[2]}"

    @property
    def proxies(self) -> tuple[FaultProxy, FaultProxy]:
        """Both of them."""
        return self.to_kproxy, self.to_brokers

    def story(self) -> list[str]:
        """What struck whom, in order."""
        since = self.to_brokers.began_at
        told = sorted((each for proxy in self.proxies for each in proxy.story), key=lambda each: each.at)
        return [each.line(since) for each in told]

    def counts(self) -> Counter[str]:
        """How often each fault struck."""
        return self.to_kproxy.counts() + self.to_brokers.counts()

    def has_seen_every_kind(self) -> bool:
        """Whether each kind of fault has struck somebody."""
        return {name.partition(": ")[2] for name in self.counts()} == {kind.value for kind in Kind}


@dataclass(slots=True)
class Outcome:
    """What a run found."""

    seed: int
    seconds: float
    faults: Counter[str]
    records_produced: int
    delivered_meanwhile: int
    """How many deliveries there were while connections failed."""
    acceptances_answered: int
    errors_of_members: Counter[str]
    ends_of_strangers: Counter[str]
    most_bytes: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    settling_seconds: float = 0.0
    """From the last fault until every record was accepted."""
    leaving_seconds: float = 0.0
    """From the end of the last client until nothing was left of any."""
    more_objects: dict[str, int] = field(default_factory=dict)


def run(seed: int, seconds: float, folder: Path, tell: Tell) -> Outcome:
    """Let connections fail for so long, and until each kind of fault has struck, but RARE_SECONDS longer at most.

    Raises AssertionError, with notes, when something does not add up.
    """
    with running_ground(seed) as ground:
        try:
            return _run(ground, seed, seconds, folder, tell)
        except BaseException as error:
            error.add_note(f"seed {seed}; the story: {_keep(ground, seed)}")
            raise


@contextmanager
def running_ground(seed: int) -> Iterator[Ground]:
    """Yield brokers and kproxy, with a fault proxy before each of their ports; nothing fails yet."""
    with ExitStack() as stack:
        cluster = stack.enter_context(KafkaCluster(brokers=BROKERS, proxied_host=FAULTY_HOST))
        of_brokers = [
            _door(Link.BROKERS, f"broker {node_id}", address)
            for node_id, address in cluster.proxied_addresses.items()
        ]
        to_brokers = stack.enter_context(FaultProxy(seed, of_brokers))
        settings = {**state_topic_settings(), **KPROXY_SETTINGS}
        kproxy = stack.enter_context(
            WatchedKproxy(
                ",".join(f"{host}:{port}" for host, port in (door.own for door in of_brokers)),
                node_ids=cluster.node_ids,
                settings=settings,
            )
        )
        named = {
            "bootstrap": kproxy.bootstrap_servers,
            **{f"{node_id}": address for node_id, address in kproxy.broker_addresses.items()},
        }
        of_kproxy = [
            _door(Link.CLIENTS, f"client {name}", (LOOPBACK, int(address.rpartition(":")[2])))
            for name, address in named.items()
        ]
        to_kproxy = stack.enter_context(FaultProxy(seed, of_kproxy))
        kproxy.wait_until_ready()
        yield Ground(cluster, kproxy, to_brokers, to_kproxy, str(settings["kproxy.state.topic.name"]))


def _door(link: Link, name: str, target: Address) -> Door:
    return Door(link, name, (FAULTY_HOST, target[1]), target)


def _run(ground: Ground, seed: int, seconds: float, folder: Path, tell: Tell) -> Outcome:
    before = _warmed_up(ground, folder)
    tell(f"warmed up: {before.resident_bytes:,} bytes of memory")
    with _at_work(ground, folder, "faults") as (acceptances, strangers):
        acceptances.wait_for_answer(since=time.monotonic(), timeout_seconds=FIRST_ANSWER_SECONDS)
        delivered_before = _delivered(acceptances)
        for proxy in ground.proxies:
            proxy.begin()
        failing_since = time.monotonic()
        most_bytes = _watch(ground, acceptances, seconds, tell)
        failing_seconds = time.monotonic() - failing_since
        for proxy in ground.proxies:
            proxy.end()
        delivered_meanwhile = _delivered(acceptances) - delivered_before
        calm_since = time.monotonic()
        _require_that_all_landed_once(acceptances)
        acceptances.wait_until_calm()
        settling_seconds = time.monotonic() - calm_since
    tell("every member has gone")
    left_since = time.monotonic()
    after = _after_all_have_left(ground, before, tell)
    leaving_seconds = time.monotonic() - left_since
    _require_order(ground.kproxy, acceptances)
    return Outcome(
        seed=seed,
        seconds=failing_seconds,
        faults=ground.counts(),
        records_produced=len(acceptances.production.produced),
        delivered_meanwhile=delivered_meanwhile,
        acceptances_answered=len(acceptances.answers()),
        errors_of_members=acceptances.errors(),
        ends_of_strangers=strangers.ends,
        most_bytes=most_bytes,
        bytes_before=before.resident_bytes,
        bytes_after=after.resident_bytes,
        settling_seconds=settling_seconds,
        leaving_seconds=leaving_seconds,
        more_objects=dict((after.objects - before.objects).most_common(12)),
    )


def _warmed_up(ground: Ground, folder: Path) -> Held:
    """Use everything once, without faults; what is held when all have gone again."""
    with _at_work(ground, folder, "warm-up") as (acceptances, _):
        acceptances.wait_for_answer(since=time.monotonic(), timeout_seconds=FIRST_ANSWER_SECONDS)
        time.sleep(WARM_UP_SECONDS)
        at_work = ground.kproxy.held()
    unknown = [name for name in leftovers.ENDED_WITH_A_CONNECTION if not at_work.objects[name]]
    assert not unknown, f"there are no objects of these classes while clients are connected: {unknown}"
    deadline = time.monotonic() + LEAVING_SECONDS
    while any((held := ground.kproxy.held()).share.values()):
        assert time.monotonic() < deadline, f"{held.share} when nothing has failed yet"
        time.sleep(LOOK_SECONDS)
    return held


@contextmanager
def _at_work(ground: Ground, folder: Path, label: str) -> Iterator[tuple[Acceptances, Strangers]]:
    """Yield groups whose members accept what is produced, all through the fault proxies, with strangers beside them."""
    cluster, servers = ground.cluster, ground.bootstrap_servers
    topics = [_new_topic(cluster, PARTITIONS) for _ in range(GROUPS)]
    strange_topic = _new_topic(cluster, BROKERS, label="strange")
    partitions = [(topic, number) for number in range(PARTITIONS) for topic in topics]
    with ExitStack() as stack:
        strangers = Strangers(_strange_places(ground, strange_topic), topic=strange_topic)
        stack.enter_context(strangers)
        production = SteadyProduction(
            servers,
            partitions,
            in_turn=True,
            settings={**CLIENT_SETTINGS["confluent"], "client.id": PRODUCER},
        )
        stack.enter_context(production)
        acceptances = Acceptances(cluster, ground.state_topic, topics, [], production)
        groups = [_new_group(ground) for _ in topics]
        for number, kind in enumerate(KINDS):
            topic, group = topics[number // MEMBERS_OF_GROUP], groups[number // MEMBERS_OF_GROUP]
            start = _starter(servers, kind, group)
            accepter = Accepter(start, [topic], folder / f"{label}-{number}", errors_in_a_row=PATIENT_ERRORS)
            acceptances.accepters.append(stack.enter_context(accepter))
        yield acceptances, strangers


def _starter(servers: str, kind: str, group: str) -> Callable[[Sequence[str]], ShareMember]:
    return lambda topics: MEMBER_KINDS[kind](
        servers, group=group, topics=topics, settings=CLIENT_SETTINGS[kind]
    )


def _new_topic(cluster: KafkaCluster, partitions: int, *, label: str = "faults") -> str:
    return administration.create_topic(cluster.bootstrap_servers, unique_name(label), partitions=partitions)


def _new_group(ground: Ground) -> str:
    group = unique_name("faults")
    administration.set_group_settings(ground.bootstrap_servers, group, GROUP_SETTINGS)
    return group


def _strange_places(ground: Ground, topic: str) -> list[Place]:
    """For each partition a group of its own, coordinated by the partition's leader, and where clients find that."""
    places = []
    for partition in range(BROKERS):
        node_id = administration.leader_of(ground.cluster.bootstrap_servers, topic, partition)
        port = ground.kproxy.broker_addresses[node_id].rpartition(":")[2]
        places.append(Place(f"{FAULTY_HOST}:{port}", partition, _group_of(ground, node_id)))
    return places


def _group_of(ground: Ground, node_id: int) -> str:
    with RawConnection(ground.kproxy.bootstrap_servers) as connection:
        while True:
            request = FindCoordinatorRequest(key=unique_name("strange"))
            asked = (ApiKey.FIND_COORDINATOR, FIND_COORDINATOR_VERSION, request, FindCoordinatorResponse)
            if connection.ask(*asked).node_id == node_id:
                return request.key


def _delivered(acceptances: Acceptances) -> int:
    return sum(len(accepter.received) for accepter in acceptances.accepters)


def _watch(ground: Ground, acceptances: Acceptances, seconds: float, tell: Tell) -> int:
    """Return when connections have failed enough: the most memory that kproxy occupied."""
    most_bytes, began = 0, time.monotonic()
    while (now := time.monotonic() - began) < seconds or (
        now < seconds + RARE_SECONDS and not ground.has_seen_every_kind()
    ):
        assert ground.kproxy.is_running, ground.kproxy.errors()[-4000:]
        resident_bytes = ground.kproxy.resident_bytes()
        most_bytes = max(most_bytes, resident_bytes)
        tell(
            f"{now:5.0f} s  {ground.counts().total():5} faults  {len(acceptances.production.produced):7,} produced  "
            f"{_delivered(acceptances):7,} delivered  "
            f"{ground.to_kproxy.open_count():3} and {ground.to_brokers.open_count():3} connections  "
            f"{resident_bytes / 2**20:5.1f} MiB"
        )
        time.sleep(LOOK_SECONDS)
    return most_bytes


def _after_all_have_left(ground: Ground, before: Held, tell: Tell) -> Held:
    deadline = time.monotonic() + LEAVING_SECONDS
    vanished = ground.to_kproxy.held_by_vanished() | ground.to_brokers.held_by_vanished()
    while True:
        held = ground.kproxy.held()
        left = leftovers.left_over(before, held, brokers=BROKERS, vanished=vanished)
        if not left:
            return held
        tell(f"left: {'; '.join(left)}")
        assert time.monotonic() < deadline, "\n  ".join(["left when all have gone:", *left])
        time.sleep(LOOK_SECONDS)


def _require_that_all_landed_once(acceptances: Acceptances) -> None:
    untold, refused = acceptances.take_what_landed(), acceptances.production.refused
    assert not refused, f"refused to an idempotent producer: {Counter(refused)}"
    assert not untold, f"written twice: {sorted(untold)}"


def _require_order(kproxy: WatchedKproxy, acceptances: Acceptances) -> None:
    logs = acceptances.read_log()
    acquired_at = last_acquired_at(kproxy.acquisitions(), acceptances.names_by_id())
    receipts = [receipt for accepter in acceptances.accepters for receipt in accepter.received]
    try:
        acceptances.require_in_order(logs, may_be_answered_late=True)
        undone = checks.delivered_after_its_answer(receipts, acceptances.answers(), acquired_at)
        assert not undone, "\n  ".join(["was delivered after its answer", *undone])
    except AssertionError as error:
        error.add_note(f"the state log: {keep_story(logs)}")
        raise


def _keep(ground: Ground, seed: int) -> Path:
    folder = kept_logs_folder()
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"faults-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-seed-{seed}.txt"
    file.write_text("".join(f"{line}\n" for line in ground.story()))
    return file
