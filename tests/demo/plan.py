"""What the demo is asked for, and the figures it is made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from tests.demo.failures import WrongSetting

RECORDS_VARIABLE: Final = "DEMO_RECORDS"
KEEP_VARIABLE: Final = "KEEP"
NATIVE_VARIABLE: Final = "DEMO_NATIVE"
PROXIES_VARIABLE: Final = "PROXIES"

DEFAULT_RECORDS: Final = 3_000
FEWEST_RECORDS: Final = 300
"""With fewer of them not everything is sure to happen."""
MOST_PROXIES: Final = 8
"""So many kproxies are what a fleet is made for, and as much as a small machine can start."""

TOPIC: Final = "jobs"
GROUP: Final = "workers"
MEMBERS: Final = ("alice", "bob", "carol")
OVERSLEEPER: Final = "carol"
PRODUCER: Final = "producer"

PARTITIONS: Final = 2
"""Fewer than members: one consumer of an ordinary group would have nothing to do, and whose lock expires has
another member beside it on each partition (`kproxy.share.assignor`)."""

LOCK_SECONDS: Final = 15
"""The shortest lock that a group may have by default."""

PRODUCING_SECONDS: Final = 23.0
"""Past the end of the lock that expires and the kill of kproxy that follows, so that there is something to see."""
FLEET_SECONDS: Final = 16.0
"""So much longer with several kproxies: one takes over from the killed one, which comes back, and one is restarted."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How this demo goes."""

    record_count: int = DEFAULT_RECORDS
    keeps_running: bool = False
    """Leave Kafka and kproxy running after the closing table, until Ctrl-C."""
    is_native: bool = False
    """For comparison: Kafka's own share groups, and no kproxy."""
    proxies: int = 1
    """How many kproxies serve the group together."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """What `DEMO_RECORDS`, `KEEP`, `DEMO_NATIVE` and `PROXIES` ask for; raises `WrongSetting`."""
        is_native = _is_on(environment, NATIVE_VARIABLE)
        return cls(
            record_count=_record_count(environment.get(RECORDS_VARIABLE) or str(DEFAULT_RECORDS)),
            keeps_running=_is_on(environment, KEEP_VARIABLE),
            is_native=is_native,
            proxies=_proxies(environment.get(PROXIES_VARIABLE) or "1", is_native=is_native),
        )

    @property
    def is_fleet(self) -> bool:
        """Whether there are several kproxies."""
        return self.proxies > 1

    @property
    def producing_seconds(self) -> float:
        """For how long records are produced, at an even pace."""
        return PRODUCING_SECONDS + (FLEET_SECONDS if self.is_fleet else 0.0)

    @property
    def held_back(self) -> int:
        """So many of the last records wait, if they have to, for the update of a kproxy: members are busy then."""
        return self.record_count // 10 if self.is_fleet else 0

    @property
    def seconds_per_record(self) -> float:
        """How long a member works on a record: two of them keep up with the producer, one does not."""
        return self.producing_seconds / self.record_count

    @property
    def oversleeps_after(self) -> int:
        """After so many deliveries one member sleeps: soon, but not at once."""
        return self.record_count // 30

    @property
    def oversleeps_with(self) -> int:
        """With so many records in hand or more, so that it shows; far fewer than a usual poll brings."""
        return min(10, self.record_count // 300)


def _record_count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < FEWEST_RECORDS:
        raise WrongSetting(f"{RECORDS_VARIABLE}={text}: expected a number from {FEWEST_RECORDS} up")
    return int(text)


def _proxies(text: str, *, is_native: bool) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MOST_PROXIES:
        raise WrongSetting(f"{PROXIES_VARIABLE}={text}: expected a number from 1 to {MOST_PROXIES}")
    if is_native and int(text) > 1:
        raise WrongSetting(
            f"{PROXIES_VARIABLE}={text}: expected 1, for {NATIVE_VARIABLE}=1 is without kproxy"
        )
    return int(text)


def _is_on(environment: Mapping[str, str], variable: str) -> bool:
    text = environment.get(variable, "")
    if text not in {"", "0", "1"}:
        raise WrongSetting(f"{variable}={text}: expected 0 or 1")
    return text == "1"
