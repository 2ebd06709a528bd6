"""The relay benchmark with TLS: clients, relay and broker encrypt, kproxy and haproxy with the same certificates."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from tests.benchmarks.background import Watched, noise_remark
from tests.benchmarks.haproxy_process import HaproxyProcess
from tests.benchmarks.machine import describe_machine
from tests.benchmarks.placement import pinned_cores, place
from tests.benchmarks.record_streams import CPU_PER_GB, RATE, ConsumeRecords, ProduceRecords
from tests.benchmarks.relay_report import ARMS, HOW_TO_READ, RATIOS
from tests.benchmarks.relay_setting import DIRECT, HAPROXY, HEAP, KPROXY
from tests.benchmarks.relayed_listener import NAME as RELAYED
from tests.benchmarks.relayed_listener import add_listeners
from tests.benchmarks.result_files import Result
from tests.benchmarks.steps import shown_steps
from tests.benchmarks.tables import comparison_table
from tests.benchmarks.workload import Arm, Measurements, Rounds, Workload, measure_in_turn
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.ports import ReservedPort
from tests.worlds.certificate_authority import CertificateAuthority, Issued

SECURED: Final = "SECURED"
FULL: Final = (Rounds(5), 300_000)
QUICK: Final = (Rounds(2), 100_000)


class _Setting:
    """The arms, the processes in two groups, and the address in plaintext at which topics are made."""

    def __init__(self, cluster: KafkaCluster, arms: list[Arm]) -> None:
        self.direct_address = cluster.bootstrap_servers
        self.arms = arms
        self.relay_ids = [arm.relay_process_id for arm in arms if arm.relay_process_id is not None]
        self.other_ids = [os.getpid(), *cluster.process_ids]


def run(*, is_quick: bool) -> Result:
    """Measure records with relays on a core of their own. Raises `TooFewCores`, and what starting Kafka raises."""
    rounds, count = QUICK if is_quick else FULL
    cores = pinned_cores(os.sched_getaffinity(0))
    measured = Measurements()
    with _setting() as setting:
        place(setting.relay_ids, cores.relays)
        place(setting.other_ids, cores.others)
        workloads: list[Workload] = [
            Watched(each, [*setting.relay_ids, *setting.other_ids])
            for each in (
                ProduceRecords(setting.direct_address, record_bytes=1_000, count=count),
                ConsumeRecords(setting.direct_address, record_bytes=1_000, count=count),
            )
        ]
        with shown_steps(len(workloads) * len(setting.arms) * rounds.total) as steps:
            for workload in workloads:
                measure_in_turn(workload, setting.arms, rounds, steps, measured)
    return _result("relay-tls-quick" if is_quick else "relay-tls", measured)


def _result(name: str, measured: Measurements) -> Result:
    titles = {RATE: "Records over TLS, MB/s", CPU_PER_GB: "Records over TLS, CPU seconds of the relay per GB"}
    return Result(
        name=name,
        machine=describe_machine(),
        remarks=[HOW_TO_READ, noise_remark(measured)],
        tables=[
            comparison_table(title, measured.of_quantity(quantity), arms=ARMS, ratios=RATIOS)
            for quantity, title in titles.items()
        ],
        values={"alone": measured.as_json()},
    )


@contextmanager
def _setting() -> Iterator[_Setting]:
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="kproxy-bench-")))
        authority = CertificateAuthority(folder)
        keys = authority.issue("everybody")
        secured, target, listen = (running.enter_context(ReservedPort()) for _ in range(3))
        cluster = running.enter_context(KafkaCluster(heap=HEAP, jvm_options=()))
        addresses = {SECURED: (secured.address, secured.address), RELAYED: (target.address, listen.address)}
        add_listeners(cluster, addresses, "SSL", _broker_stores(keys))
        kproxy = running.enter_context(KproxyProcess(secured.address, settings=_kproxy(authority, keys)))
        haproxy = running.enter_context(_haproxy(listen, target, authority, keys))
        kproxy.wait_until_ready()
        haproxy.wait_until_ready()
        client = {"security.protocol": "SSL", "ssl.ca.location": str(authority.file)}
        yield _Setting(
            cluster,
            [
                Arm(DIRECT, secured.address, None, client),
                Arm(KPROXY, kproxy.bootstrap_servers, kproxy.process_id, client),
                Arm(HAPROXY, haproxy.bootstrap_servers, haproxy.process_id, client),
            ],
        )


def _broker_stores(keys: Issued) -> dict[str, str]:
    return {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(keys.both)}


def _kproxy(authority: CertificateAuthority, keys: Issued) -> dict[str, str]:
    return {
        "kproxy.listener.security.protocol": "SSL",
        "ssl.keystore.location": str(keys.both),
        "upstream.security.protocol": "SSL",
        "upstream.ssl.truststore.location": str(authority.file),
    }


def _haproxy(
    listen: ReservedPort, target: ReservedPort, authority: CertificateAuthority, keys: Issued
) -> HaproxyProcess:
    return HaproxyProcess(
        listen,
        target.address,
        client_tls=f"ssl crt {keys.both}",
        broker_tls=f"ssl verify required ca-file {authority.file}",
    )
