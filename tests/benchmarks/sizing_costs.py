"""What something costs kproxy and its broker: state log, appends, processor time, and what that comes to in a day."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from tests.benchmarks.comparison import Quantity
from tests.benchmarks.process_accounting import cpu_seconds
from tests.real_kafka.kproxy_process import MetricValues

SECONDS_A_DAY: Final = 86_400

LOG_BYTES: Final = Quantity("state log", "bytes a record", 2)
"""Of one replica, with the overhead of batches; what a batch takes on the wire beside them is some 100 bytes."""
LOG_RECORDS: Final = Quantity("log records", "per 1,000 records", 1)
APPENDS: Final = Quantity("Produce requests to the broker", "per 1,000 records", 1)
KPROXY_CPU: Final = Quantity("CPU of kproxy", "ms per 1,000 records", 1)
BROKER_CPU: Final = Quantity("CPU of the broker", "ms per 1,000 records", 1)


class CountingProcess(Protocol):
    """What is asked of kproxy's process."""

    @property
    def process_id(self) -> int: ...

    def metrics(self) -> MetricValues: ...


@dataclass(slots=True)
class Cost:
    """Sums over a measurement, set when it ends."""

    log_bytes: float = 0.0
    log_records: float = 0.0
    appends: float = 0.0
    kproxy_seconds: float = 0.0
    broker_seconds: float = 0.0

    def of_records(self, count: int) -> Mapping[Quantity, float]:
        """What that is for each of `count` records, or for a thousand of them."""
        thousands = count / 1_000
        return {
            LOG_BYTES: self.log_bytes / count,
            LOG_RECORDS: self.log_records / thousands,
            APPENDS: self.appends / thousands,
            KPROXY_CPU: self.kproxy_seconds * 1_000 / thousands,
            BROKER_CPU: self.broker_seconds * 1_000 / thousands,
        }


@contextmanager
def cost_of(kproxy: CountingProcess, broker_process_id: int) -> Iterator[Cost]:
    """Measure what happens while the `with` lasts. Scrapes stand outside of it."""
    cost = Cost()
    before = _sums(kproxy.metrics())
    began = cpu_seconds(kproxy.process_id), cpu_seconds(broker_process_id)
    yield cost
    ended = cpu_seconds(kproxy.process_id), cpu_seconds(broker_process_id)
    after = _sums(kproxy.metrics())
    cost.log_bytes, cost.log_records, cost.appends = (
        now - then for now, then in zip(after, before, strict=True)
    )
    cost.kproxy_seconds, cost.broker_seconds = (now - then for now, then in zip(ended, began, strict=True))


def megabytes_a_day(bytes_a_record: float, records_per_second: float) -> float:
    """How many 10^6 bytes of state log a steady rate of acknowledged records makes in a day, in each replica."""
    return bytes_a_record * records_per_second * SECONDS_A_DAY / 1e6


def _sums(metrics: MetricValues) -> tuple[float, float, float]:
    """Both topics of the state log: the one of groups has next to nothing while members stay."""
    return (
        metrics.total("kproxy_statelog_bytes_total"),
        metrics.total("kproxy_statelog_records_total"),
        metrics.value("kproxy_statelog_append_seconds_count"),
    )
