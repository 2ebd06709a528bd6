"""What can befall a fleet. Each misfortune begins, lasts and ends; what it needs to be over is done when it returns."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, TypeAlias

from tests.compatibility.namespaces import BROKERS_ADDRESS
from tests.misfortunes.fleet import Fleet
from tests.misfortunes.hosted_kproxy import HostedKproxy

SHORT_SECONDS: Final = (0.0, 3.0)
"""Less than the session timeout of a fleet, 6 s: it is back before anybody has missed it."""
LONG_SECONDS: Final = (6.5, 9.0)
"""More than that."""
ANY_SECONDS: Final = (1.0, 9.0)


@dataclass(frozen=True, slots=True)
class Struck:
    """One misfortune that was. The times are seconds of `time.monotonic`."""

    kind: str
    details: str
    kproxies: frozenset[int]
    """The numbers of those that it struck."""
    began: float
    ended: float


Strike: TypeAlias = Callable[[Fleet, Random], tuple[str, Sequence[HostedKproxy]]]
"""Lets a misfortune happen; what happened in words, and whom it struck."""


def kproxy_killed_and_back_at_once(fleet: Fleet, chance: Random) -> tuple[str, Sequence[HostedKproxy]]:
    """SIGKILL, and a start before the session has ended."""
    return _killed(fleet, chance, SHORT_SECONDS)


def kproxy_killed_and_back_late(fleet: Fleet, chance: Random) -> tuple[str, Sequence[HostedKproxy]]:
    """SIGKILL, and a start when the others have its slots."""
    return _killed(fleet, chance, LONG_SECONDS)


def kproxy_frozen(fleet: Fleet, chance: Random) -> tuple[str, Sequence[HostedKproxy]]:
    """SIGSTOP for longer than a session lasts, then SIGCONT: it wakes up with slots that others own."""
    kproxy, seconds = chance.choice(fleet.kproxies), chance.uniform(*LONG_SECONDS)
    kproxy.pause()
    time.sleep(seconds)
    kproxy.resume()
    return f"kproxy {kproxy.number} for {seconds:.1f} s", [kproxy]


def rolling_restart(fleet: Fleet, chance: Random) -> tuple[str, Sequence[HostedKproxy]]:
    """SIGTERM and a new start of each, one after the other, as an update does it."""
    order = chance.sample(fleet.kproxies, len(fleet.kproxies))
    for kproxy in order:
        status = kproxy.end_in_order()
        assert status == 0, f"kproxy {kproxy.number} ended with {status}"
        kproxy.begin()
        kproxy.wait_until_ready()
    return f"kproxies {[kproxy.number for kproxy in order]}", order


def kproxies_cut_off_from_each_other(fleet: Fleet, chance: Random) -> tuple[str, Sequence[HostedKproxy]]:
    """No packet passes between two kproxies; both reach the brokers."""
    one, other = chance.sample(fleet.kproxies, 2)
    seconds = chance.uniform(*ANY_SECONDS)
    with fleet.network.cut(one.address, other.address):
        time.sleep(seconds)
    return f"kproxies {one.number} and {other.number} for {seconds:.1f} s", [one, other]


def kproxy_cut_off_from_brokers(fleet: Fleet, chance: Random) -> tuple[str, Sequence[HostedKproxy]]:
    """No packet passes between one kproxy and the brokers; its clients and the other kproxies reach it."""
    kproxy, seconds = chance.choice(fleet.kproxies), chance.uniform(*ANY_SECONDS)
    with fleet.network.cut(kproxy.address, BROKERS_ADDRESS):
        time.sleep(seconds)
    return f"kproxy {kproxy.number} for {seconds:.1f} s", [kproxy]


def broker_killed(fleet: Fleet, chance: Random) -> tuple[str, Sequence[HostedKproxy]]:
    """SIGKILL of a broker, and a start of it."""
    node_id, seconds = chance.choice(fleet.cluster.node_ids), chance.uniform(*SHORT_SECONDS)
    fleet.cluster.kill_broker(node_id)
    time.sleep(seconds)
    fleet.cluster.start_broker(node_id)
    return f"broker {node_id} for {seconds:.1f} s and its start", ()


CATALOGUE: Final[Mapping[str, Strike]] = {
    strike.__name__: strike
    for strike in (
        kproxy_killed_and_back_at_once,
        kproxy_killed_and_back_late,
        kproxy_frozen,
        rolling_restart,
        kproxies_cut_off_from_each_other,
        kproxy_cut_off_from_brokers,
        broker_killed,
    )
}


def chosen(count: int, chance: Random) -> Iterator[str]:
    """Yield the names of `count` misfortunes: each of the catalogue as often as any other, in an order by chance."""
    names: list[str] = []
    for _ in range(count):
        names = names or chance.sample(list(CATALOGUE), len(CATALOGUE))
        yield names.pop()


def let_strike(name: str, fleet: Fleet, chance: Random) -> Struck:
    """Let the misfortune of this name happen; returns when it is over. Raises what it raises."""
    began = time.monotonic()
    details, victims = CATALOGUE[name](fleet, chance)
    return Struck(name, details, frozenset(victim.number for victim in victims), began, time.monotonic())


def _killed(
    fleet: Fleet, chance: Random, away_seconds: tuple[float, float]
) -> tuple[str, Sequence[HostedKproxy]]:
    kproxy, seconds = chance.choice(fleet.kproxies), chance.uniform(*away_seconds)
    kproxy.kill()
    time.sleep(seconds)
    kproxy.begin()
    kproxy.wait_until_ready()
    return f"kproxy {kproxy.number} for {seconds:.1f} s", [kproxy]
