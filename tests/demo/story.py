"""The demo from its first step to its closing table."""

import shlex
import shutil
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.demo.book import Book
from tests.demo.closing import show_closing
from tests.demo.crew import Crew
from tests.demo.failures import DemoFailed
from tests.demo.interruption import Interrupted
from tests.demo.kproxy_process import KproxyProcess
from tests.demo.ledger import Check, audit
from tests.demo.plain_clients import count_with_a_plain_consumer, refusal_of_a_share_consumer
from tests.demo.plan import (
    GROUP,
    LOCK_SECONDS,
    MEMBERS,
    OVERSLEEPER,
    PARTITIONS,
    PRODUCER,
    PRODUCING_SECONDS,
    TOPIC,
    Plan,
)
from tests.demo.view import View
from tests.kafka import administration, jars
from tests.kafka.cluster import KafkaCluster
from tests.kafka.paths import PROJECT_ROOT, cache_folder
from tests.kafka.versions import REFERENCE

LOG_FOLDER: Final = PROJECT_ROOT / "build" / "demo"
REFRESH_SECONDS: Final = 0.1
PATIENCE_SECONDS: Final = 40.0
"""Longer than any lock: when nothing happens for so long, nothing will."""
WORTH_A_LINE_SECONDS: Final = 1.0
KEEP_POLL_SECONDS: Final = 0.5
QUIET_CLIENT: Final = {"log_level": 3}


@dataclass(frozen=True, slots=True)
class Stage:
    """What the demo plays on."""

    cluster: KafkaCluster
    kproxy: KproxyProcess | None
    """None in the native demo."""

    @property
    def bootstrap_servers(self) -> str:
        """Where clients connect."""
        return self.cluster.bootstrap_servers if self.kproxy is None else self.kproxy.bootstrap_servers

    def check_it_stands(self) -> None:
        """Raise `DemoFailed` if Kafka or kproxy has ended."""
        if self.kproxy is not None:
            self.kproxy.check_it_runs()
        if dead := self.cluster.dead_nodes:
            raise DemoFailed(f"Apache Kafka's {', '.join(dead)} ended")


def perform(plan: Plan, view: View) -> bool:
    """Tell the whole story; true if all sums add up. Nothing runs any more afterwards.

    Raises `DemoFailed` and what the Kafka harness raises.
    """
    shutil.rmtree(LOG_FOLDER, ignore_errors=True)
    LOG_FOLDER.mkdir(parents=True)
    view.say(_title(plan), style="bold")
    _fetch_jars(view)
    with ExitStack() as everything:
        stage = _set_up(plan, view, everything)
        book, problems = _play(plan, view, stage)
        adds_up = _close(view, stage, book, problems)
        if not adds_up:
            stage.cluster.keep_logs()
        if plan.keeps_running:
            _keep_running(view, stage)
        with view.step("stopping kproxy and Kafka") as step:
            everything.close()
            step.text = "everything is stopped"
    return adds_up


def _title(plan: Plan) -> str:
    if plan.is_native:
        return "\nA share group of three on Apache Kafka's own share groups, without kproxy\n"
    return "\nkproxy: a share group of three on an Apache Kafka that has no share groups\n"


# ---- setting up


def _fetch_jars(view: View) -> None:
    began = time.monotonic()
    jars.fetch(REFERENCE)
    seconds = time.monotonic() - began
    if seconds > WORTH_A_LINE_SECONDS:
        view.done(f"Apache Kafka {REFERENCE.version} fetched through Maven", seconds)


def _set_up(plan: Plan, view: View, everything: ExitStack) -> Stage:
    share_groups = "on" if plan.is_native else "off"
    with view.step(f"Apache Kafka {REFERENCE.version}, one broker, share groups {share_groups}") as step:
        cluster = everything.enter_context(KafkaCluster(share_groups=plan.is_native))
        step.text += f": {cluster.bootstrap_servers}"
    stage = Stage(cluster, None if plan.is_native else _set_up_kproxy(view, cluster, everything))
    with view.step(
        f"topic {TOPIC} with {PARTITIONS} partitions, group {GROUP} with a lock of {LOCK_SECONDS} s"
    ):
        _set_up_topic_and_group(stage.bootstrap_servers)
    return stage


def _set_up_kproxy(view: View, cluster: KafkaCluster, everything: ExitStack) -> KproxyProcess:
    with view.step("a share consumer asks Kafka itself") as step:
        refusal = refusal_of_a_share_consumer(cluster.bootstrap_servers, TOPIC)
        if refusal is None:
            raise DemoFailed("Kafka serves share groups though they are off")
        step.text = f"Kafka itself refuses a share consumer: {refusal}"
    with view.step("kproxy in front of it, share groups on") as step:
        kproxy = everything.enter_context(KproxyProcess(cluster.bootstrap_servers, LOG_FOLDER / "kproxy.log"))
        kproxy.wait_until_ready()
        step.text += f": {kproxy.bootstrap_servers}"
    return kproxy


def _set_up_topic_and_group(bootstrap_servers: str) -> None:
    administration.create_topic(bootstrap_servers, TOPIC, partitions=PARTITIONS, client_settings=QUIET_CLIENT)
    settings = {
        "share.auto.offset.reset": "earliest",
        "share.record.lock.duration.ms": str(LOCK_SECONDS * 1000),
    }
    administration.set_group_settings(bootstrap_servers, GROUP, settings, client_settings=QUIET_CLIENT)


# ---- playing


def _play(plan: Plan, view: View, stage: Stage) -> tuple[Book, Sequence[Check]]:
    book = Book(MEMBERS)
    view.say(
        f"\n  {', '.join(MEMBERS)} share {plan.record_count:,} records; {OVERSLEEPER} will sleep past a lock\n"
    )
    with Crew(LOG_FOLDER) as crew, view.watching():
        for name in MEMBERS:
            crew.start(name, "tests.demo.member", _member_arguments(name, plan, stage))
        crew.start(PRODUCER, "tests.demo.producer", _producer_arguments(plan, stage))
        problems = _watch(plan, view, stage, crew, book)
    return book, problems


def _watch(plan: Plan, view: View, stage: Stage, crew: Crew, book: Book) -> Sequence[Check]:
    is_finishing = False
    last_news_at = time.monotonic()
    while crew.is_at_work:
        for who, event in crew.news(REFRESH_SECONDS):
            last_news_at = time.monotonic()
            book.note(who, event, last_news_at)
        view.show(book, plan)
        stage.check_it_stands()
        if not is_finishing and PRODUCER in book.finished and book.settled_count >= len(book.produced):
            crew.ask_to_finish()
            is_finishing = True
        if time.monotonic() - last_news_at > PATIENCE_SECONDS:
            return [Check(f"nothing happened any more for {PATIENCE_SECONDS:.0f} s", holds=False)]
    return []


def _member_arguments(name: str, plan: Plan, stage: Stage) -> list[str]:
    arguments = {
        "--bootstrap-server": stage.bootstrap_servers,
        "--group": GROUP,
        "--topic": TOPIC,
        "--name": name,
        "--seconds-per-record": plan.seconds_per_record,
        "--lock-seconds": LOCK_SECONDS,
    }
    if name == OVERSLEEPER:
        arguments["--oversleeps-after"] = plan.oversleeps_after
    return [str(part) for pair in arguments.items() for part in pair]


def _producer_arguments(plan: Plan, stage: Stage) -> list[str]:
    return [
        *("--bootstrap-server", stage.bootstrap_servers, "--topic", TOPIC),
        *("--records", str(plan.record_count), "--seconds", str(PRODUCING_SECONDS)),
    ]


# ---- closing


def _close(view: View, stage: Stage, book: Book, problems: Sequence[Check]) -> bool:
    with view.step("a plain consumer reads the same topic through the same port"):
        count = count_with_a_plain_consumer(stage.bootstrap_servers, TOPIC)
    by_plain_consumer = Check(
        f"a plain consumer read {count:,} records from the same port", holds=count == len(book.produced)
    )
    checks = [*audit(book.produced, book.deliveries, MEMBERS), by_plain_consumer, *problems]
    show_closing(view.console, book, checks)
    adds_up = all(check.holds for check in checks)
    seconds = f"{view.elapsed_seconds:.1f} s"
    if adds_up:
        view.say(f"\n  The sums add up, after {seconds} in all.", style="bold green")
    else:
        view.say(f"\n  The sums do not add up, after {seconds} in all.", style="bold red")
    return adds_up


def _keep_running(view: View, stage: Stage) -> None:
    for line in _addresses(stage):
        view.say(line)
    try:
        while True:
            time.sleep(KEEP_POLL_SECONDS)
            stage.check_it_stands()
    except Interrupted:
        view.say()


def _addresses(stage: Stage) -> list[str]:
    tool = f"java -cp '{_shown(cache_folder() / REFERENCE.version)}/*' org.apache.kafka.tools"
    clients = stage.bootstrap_servers
    kproxy = (
        []
        if stage.kproxy is None
        else [
            f"  kproxy          {clients}",
            f"  its admin port  {stage.kproxy.admin_url}",
        ]
    )
    status = (
        []
        if stage.kproxy is None
        else [
            f"  .venv/bin/kproxy status --admin-url {stage.kproxy.admin_url}",
            f"  curl {stage.kproxy.admin_url}/metrics",
        ]
    )
    return [
        "",
        "KEEP=1: Kafka and kproxy run until Ctrl-C.",
        *kproxy,
        f"  Kafka's broker  {stage.cluster.bootstrap_servers}",
        "",
        "Try, in two more terminals, Java's own share consumer (several at once share the work):",
        f"  {tool}.consumer.ConsoleShareConsumer --bootstrap-server {clients} --topic {TOPIC} --group {GROUP}",
        f"  {tool}.ConsoleProducer --bootstrap-server {clients} --topic {TOPIC}",
        "and" if status else "",
        *status,
    ]


def _shown(path: Path) -> str:
    here = path.relative_to(PROJECT_ROOT) if path.is_relative_to(PROJECT_ROOT) else path
    return shlex.quote(str(here)).strip("'")
