"""`KEEP=1`: what runs on after the closing table, and what to do with it."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.demo.interruption import Interrupted
from tests.demo.plan import GROUP, TOPIC
from tests.demo.stage import Stage
from tests.demo.view import View
from tests.real_kafka.paths import PROJECT_ROOT, cache_folder
from tests.real_kafka.versions import REFERENCE

WATCH_SECONDS: Final = 0.5


def keep_running(view: View, stage: Stage) -> None:
    """Show the addresses; return after Ctrl-C. Raises `DemoFailed` if Kafka or kproxy ends."""
    for line in _lines(stage):
        view.say(line)
    try:
        while True:
            time.sleep(WATCH_SECONDS)
            stage.check_it_stands()
    except Interrupted:
        view.say()


def _lines(stage: Stage) -> Iterator[str]:
    kproxies = () if stage.fleet is None else stage.fleet.kproxies
    yield "\nKEEP=1: Kafka and kproxy run until Ctrl-C.\n"
    yield f"  clients connect to    {stage.bootstrap_servers}"
    for kproxy in kproxies:
        title = f"{kproxy.name}'s admin port"
        yield f"  {title:<22}{kproxy.admin_url}"
        yield f"  {'its pages':<22}{kproxy.admin_url}/ui"
    yield f"  Kafka's own broker    {stage.cluster.bootstrap_servers}"
    yield "\nTry Java's share consumer, in several terminals at once, and a producer in one more:\n"
    yield f"  {_tool('consumer.ConsoleShareConsumer', stage)} --group {GROUP}"
    yield f"  {_tool('ConsoleProducer', stage)}"
    if stage.fleet is not None:
        yield from _questions(stage.cluster.bootstrap_servers, stage.fleet.serving_the_group().admin_url)


def _questions(backing_bootstrap_servers: str, admin_url: str) -> Iterator[str]:
    yield "\nand see what kproxy says of itself:\n"
    yield f"  .venv/bin/kproxy status --admin-url {admin_url}"
    yield f"  curl {admin_url}/metrics"
    yield f"  .venv/bin/kproxy log dump -b {backing_bootstrap_servers} -o table"
    yield "\nand ask the history with Spark:\n"
    replay, log = ".venv/bin/kproxy replay", f"-b {backing_bootstrap_servers}"
    yield f"  {replay} verify {log} --admin-url {admin_url}"
    yield f"  {replay} audit {log} --topic {TOPIC} --partition 0 --offset 0"
    yield f"  {replay} lag-history {log} --every 5s"


def _tool(name: str, stage: Stage) -> str:
    class_path = f"{_from_here(cache_folder() / REFERENCE.version)}/*"
    tool = f"java -cp '{class_path}' org.apache.kafka.tools.{name}"
    return f"{tool} --bootstrap-server {stage.bootstrap_servers} --topic {TOPIC}"


def _from_here(path: Path) -> Path:
    return path.relative_to(PROJECT_ROOT) if path.is_relative_to(PROJECT_ROOT) else path
