"""The refusals benchmark: what it costs a kproxy whose state topics another fleet has to refuse its share members."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Final

from tests.benchmarks.bars import Bar, Side
from tests.benchmarks.comparison import Spread
from tests.benchmarks.machine import describe_machine
from tests.benchmarks.process_accounting import cpu_use
from tests.benchmarks.refused_members import be_refused
from tests.benchmarks.result_files import Result
from tests.benchmarks.steps import shown_steps
from tests.benchmarks.tables import Table, bar_table
from tests.real_kafka import administration
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess, MetricValues, state_topic_settings

MEMBERS: Final = 100
MOST_PERCENT: Final = 2.0
REFUSED_APIS: Final = ("ShareFetch", "ShareGroupHeartbeat")


@dataclass(frozen=True, slots=True)
class Amounts:
    """How often the members come, and for how many seconds: at first, when holds are short, and then."""

    rounds: int
    first_seconds: float
    later_seconds: float


FULL: Final = Amounts(5, 10.0, 15.0)
QUICK: Final = Amounts(1, 5.0, 5.0)


@dataclass(frozen=True, slots=True)
class Window:
    """What some seconds cost."""

    percent: float
    """CPU of kproxy, in percent of a core."""
    refused_per_second: float


@dataclass(frozen=True, slots=True)
class Round:
    """From the first request of members that have connected before."""

    first: Window
    later: Window


def run(*, is_quick: bool) -> Result:
    """Measure some three minutes, or twenty seconds. Raises what starting Kafka and kproxy raises."""
    amounts = QUICK if is_quick else FULL
    with refused_kproxy() as (kproxy, topic), shown_steps(amounts.rounds + 1) as steps:
        rounds = []
        for number in range(amounts.rounds + 1):
            members = MEMBERS if number else 0
            steps.begin(f"{members} members are refused")
            rounds.append(_measured(kproxy, topic, members, amounts))
            steps.finish()
    idle, *refusing = rounds
    return _result("refusals-quick" if is_quick else "refusals", idle, refusing)


@contextmanager
def refused_kproxy() -> Iterator[tuple[KproxyProcess, str]]:
    """A kproxy that serves no share groups, because another fleet serves from its topics; and a topic."""
    with KafkaCluster() as cluster:
        topic = administration.create_topic(cluster.bootstrap_servers, unique_name("refused"))
        settings = state_topic_settings()
        stranger = {**settings, "kproxy.fleet.group": unique_name("another-fleet")}
        with KproxyProcess(cluster.bootstrap_servers, settings=settings) as owner:
            owner.wait_until_ready()
            with KproxyProcess(cluster.bootstrap_servers, settings=stranger) as kproxy:
                kproxy.wait_until(lambda: "another fleet" in kproxy.status()["shareGroups"]["reason"])
                yield kproxy, topic


def _measured(kproxy: KproxyProcess, topic: str, members: int, amounts: Amounts) -> Round:
    windows: list[Window] = []

    async def watch() -> None:
        windows.append(await _watched(kproxy, amounts.first_seconds))
        windows.append(await _watched(kproxy, amounts.later_seconds))

    asking = be_refused(
        kproxy.broker_addresses[1],
        group=unique_name("refused"),
        topic=topic,
        member_count=members,
        meanwhile=watch,
    )
    asyncio.run(asking)
    first, later = windows
    return Round(first, later)


async def _watched(kproxy: KproxyProcess, seconds: float) -> Window:
    refused_before, began = _refused(kproxy.metrics()), time.monotonic()
    with cpu_use(kproxy.process_id) as use:
        await asyncio.sleep(seconds)
    elapsed = time.monotonic() - began
    refused = _refused(kproxy.metrics()) - refused_before
    return Window(use.seconds / elapsed * 100, refused / elapsed)


def _refused(metrics: MetricValues) -> float:
    return sum(metrics.total("kproxy_requests_refused_total", api=api) for api in REFUSED_APIS)


def _result(name: str, idle: Round, refusing: Sequence[Round]) -> Result:
    windows = {
        "at first": [each.first for each in refusing],
        "later": [each.later for each in refusing],
    }
    rows = [["no members", f"{idle.later.percent:.2f}", "0"]]
    bars = []
    for when, measured in windows.items():
        percent = Spread.of(window.percent for window in measured)
        refused = Spread.of(window.refused_per_second for window in measured)
        shown = f"{percent.median:.2f} [{percent.lowest:.2f}, {percent.highest:.2f}]"
        rows.append([f"{MEMBERS} members, {when}", shown, f"{refused.median:.0f}"])
        title = f"{MEMBERS} members are refused, {when}"
        bars.append(Bar(title, Side.AT_MOST, MOST_PERCENT, "% of a core", percent))
    table = Table(
        "A kproxy whose state topics another fleet has", ["", "CPU, % of a core", "refusals/s"], rows
    )
    values = {
        "idle_percent": idle.later.percent,
        "rounds": [asdict(each) for each in refusing],
        "bars": [bar.as_json() for bar in bars],
    }
    return Result(name, describe_machine(with_haproxy=False), [], [table, bar_table(bars)], values)
