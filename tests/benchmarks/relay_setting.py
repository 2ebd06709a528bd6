"""The setting of the relay benchmark: one real broker, and three ways to it that stand side by side."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Final

from tests.benchmarks.connection_memory import FreshRelays, RunningRelay
from tests.benchmarks.haproxy_process import HaproxyProcess
from tests.benchmarks.placement import Cores, place
from tests.benchmarks.relayed_listener import add_relayed_listener
from tests.benchmarks.workload import Arm
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.ports import ReservedPort

DIRECT: Final = "direct"
KPROXY: Final = "kproxy"
HAPROXY: Final = "haproxy"

HEAP: Final = "1g"


class RelaySetting:
    """What runs, how to reach it, and on which cores."""

    def __init__(self, cluster: KafkaCluster, relays: Mapping[str, RunningRelay], target: str) -> None:
        """`relays` by the name of their arm; `target` is where haproxy reaches the broker."""
        self.direct_address = cluster.bootstrap_servers
        self.arms = _arms(self.direct_address, relays)
        self.fresh_relays: FreshRelays = {KPROXY: self._fresh_kproxy, HAPROXY: self._fresh_haproxy}
        self._target = target
        self._relay_ids = [relay.process_id for relay in relays.values()]
        self._other_ids = [os.getpid(), *cluster.process_ids]
        self._cores: Cores | None = None

    @property
    def relay_arms(self) -> Sequence[Arm]:
        """The arms that have a relay."""
        return [arm for arm in self.arms if arm.relay_process_id is not None]

    @property
    def process_ids(self) -> Sequence[int]:
        """Everything that takes part, this process too."""
        return [*self._relay_ids, *self._other_ids]

    def place(self, cores: Cores) -> None:
        """Move all that runs, and what `fresh_relays` will start, to these cores."""
        self._cores = cores
        place(self._relay_ids, cores.relays)
        place(self._other_ids, cores.others)

    def _fresh_kproxy(self) -> AbstractContextManager[RunningRelay]:
        return self._placed(_started_kproxy(self.direct_address))

    def _fresh_haproxy(self) -> AbstractContextManager[RunningRelay]:
        return self._placed(_haproxy_of_its_own(self._target))

    @contextmanager
    def _placed(self, started: AbstractContextManager[RunningRelay]) -> Iterator[RunningRelay]:
        with started as relay:
            if self._cores is not None:
                place([relay.process_id], self._cores.relays)
            yield relay


@contextmanager
def relay_setting() -> Iterator[RelaySetting]:
    """Start the broker, kproxy and haproxy; everything is gone when the `with` ends."""
    with ExitStack() as running:
        target, listen = (running.enter_context(ReservedPort()) for _ in range(2))
        # As the JVM runs by default, not as tests start it: both compilers, its own choice of collector.
        cluster = running.enter_context(KafkaCluster(heap=HEAP, jvm_options=()))
        add_relayed_listener(cluster, target, listen.address)
        relays: dict[str, RunningRelay] = {
            KPROXY: running.enter_context(_started_kproxy(cluster.bootstrap_servers)),
            HAPROXY: running.enter_context(_started_haproxy(listen, target.address)),
        }
        yield RelaySetting(cluster, relays, target.address)


def _arms(direct_address: str, relays: Mapping[str, RunningRelay]) -> list[Arm]:
    direct = Arm(DIRECT, direct_address, None)
    return [
        direct,
        *(Arm(name, relay.bootstrap_servers, relay.process_id) for name, relay in relays.items()),
    ]


@contextmanager
def _started_kproxy(bootstrap_servers: str) -> Iterator[KproxyProcess]:
    with KproxyProcess(bootstrap_servers) as kproxy:
        kproxy.wait_until_ready()
        yield kproxy


@contextmanager
def _started_haproxy(listen: ReservedPort, target: str) -> Iterator[HaproxyProcess]:
    with HaproxyProcess(listen, target) as haproxy:
        haproxy.wait_until_ready()
        yield haproxy


@contextmanager
def _haproxy_of_its_own(target: str) -> Iterator[HaproxyProcess]:
    # Nothing that it carries then looks at what the broker advertises.
    with ReservedPort() as listen, _started_haproxy(listen, target) as haproxy:
        yield haproxy
