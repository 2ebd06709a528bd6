"""What the demo plays on: Kafka, kproxy in front of it, the topic and the group."""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaException

from tests.demo.analyst_process import AnalystProcess, spark_environment
from tests.demo.failures import DemoFailed
from tests.demo.kproxy_fleet import KproxyFleet
from tests.demo.plain_clients import refusal_of_a_share_consumer
from tests.demo.plan import GROUP, LOCK_SECONDS, PARTITIONS, TOPIC, Plan
from tests.demo.view import View
from tests.real_kafka import administration, jars
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.paths import PROJECT_ROOT
from tests.real_kafka.versions import REFERENCE

LOG_FOLDER: Final = PROJECT_ROOT / "build" / "demo"
WORTH_A_LINE_SECONDS: Final = 1.0
QUIET_CLIENT: Final = {"log_level": 0}

GROUP_SETTINGS: Final[Mapping[str, str]] = {
    "share.auto.offset.reset": "earliest",
    "share.record.lock.duration.ms": str(LOCK_SECONDS * 1000),
}


@dataclass(frozen=True, slots=True)
class Stage:
    """A running Kafka, one kproxy or several that run, and Spark, which starts."""

    cluster: KafkaCluster
    fleet: KproxyFleet | None
    """None in the native demo."""
    analyst: AnalystProcess | None
    """None in the native demo: there is no state log of kproxy's."""

    @property
    def several_kproxies(self) -> KproxyFleet | None:
        """All kproxies; None if there are not several."""
        return self.fleet if self.fleet is not None and len(self.fleet.kproxies) > 1 else None

    @property
    def bootstrap_servers(self) -> str:
        """Where clients connect."""
        return self.cluster.bootstrap_servers if self.fleet is None else self.fleet.bootstrap_servers

    def check_it_stands(self) -> None:
        """Raise `DemoFailed` if Kafka or kproxy has ended."""
        if self.fleet is not None:
            self.fleet.check_they_run()
        if dead := self.cluster.dead_nodes:
            raise DemoFailed(f"Apache Kafka's {', '.join(dead)} ended")


def set_up(plan: Plan, view: View, everything: ExitStack) -> Stage:
    """Start all that the demo needs, and let `everything` end it."""
    LOG_FOLDER.mkdir(parents=True, exist_ok=True)
    _fetch_jars(view)
    cluster = _start_kafka(plan, view, everything)
    if plan.is_native:
        stage = Stage(cluster, None, None)
    else:
        _ask_kafka_itself(view, cluster)
        fleet = _start_kproxies(plan, view, cluster, everything)
        analyst = AnalystProcess(LOG_FOLDER / "spark.log", spark_environment())
        stage = Stage(cluster, fleet, everything.enter_context(analyst))
    with view.step(f"topic {TOPIC}: {PARTITIONS} partitions; group {GROUP}: locks of {LOCK_SECONDS} s"):
        _create_topic_and_group(stage)
    return stage


def _fetch_jars(view: View) -> None:
    # This shows a progress of its own.
    began = time.monotonic()
    jars.fetch(REFERENCE)
    seconds = time.monotonic() - began
    if seconds > WORTH_A_LINE_SECONDS:
        view.done(f"Apache Kafka {REFERENCE.version} fetched through Maven", seconds)


def _start_kafka(plan: Plan, view: View, everything: ExitStack) -> KafkaCluster:
    share_groups = "on" if plan.is_native else "off"
    with view.step(f"Apache Kafka {REFERENCE.version}, one broker, share groups {share_groups}") as step:
        cluster = everything.enter_context(KafkaCluster(share_groups=plan.is_native))
        step.text += f": {cluster.bootstrap_servers}"
    return cluster


def _ask_kafka_itself(view: View, cluster: KafkaCluster) -> None:
    with view.step("a share consumer asks Kafka itself") as step:
        refusal = refusal_of_a_share_consumer(cluster.bootstrap_servers, TOPIC)
        if refusal is None:
            raise DemoFailed("Kafka serves share groups though they are off")
        step.text = f"Kafka itself refuses a share consumer: {refusal}"


def _start_kproxies(plan: Plan, view: View, cluster: KafkaCluster, everything: ExitStack) -> KproxyFleet:
    title = (
        f"{plan.proxies} kproxies in front of it"
        if plan.is_fleet
        else "kproxy in front of it, share groups on"
    )
    with view.step(title) as step:
        fleet = everything.enter_context(KproxyFleet(plan.proxies, cluster.bootstrap_servers, LOG_FOLDER))
        fleet.wait_until_ready()
        slots = f"{fleet.status.slot_count} slots = {fleet.status.slots_in_words}"
        step.text += f": {slots if plan.is_fleet else fleet.bootstrap_servers}"
    return fleet


def _create_topic_and_group(stage: Stage) -> None:
    clients = stage.bootstrap_servers
    try:
        administration.create_topic(clients, TOPIC, partitions=PARTITIONS, client_settings=QUIET_CLIENT)
        administration.set_group_settings(clients, GROUP, GROUP_SETTINGS, client_settings=QUIET_CLIENT)
    except (TimeoutError, KafkaException) as error:
        stage.check_it_stands()
        reason = str(error) or "no answer in time"
        raise DemoFailed(f"the topic and the group cannot be set up at {clients}: {reason}") from error
