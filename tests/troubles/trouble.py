"""`Trouble`: what is planted for an alert, and what the commands of its section have to say while it is there."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, TypeAlias

from tests.real_kafka.kproxy_fleet import KproxyFleet
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.troubles.ground import Ground
from tests.troubles.wall import Wall

Settings: TypeAlias = Mapping[str, str | int]

WELL: Final = 0
NOBODY_ANSWERS: Final = 4
CHECK_FAILED: Final = 5


@dataclass(frozen=True, slots=True)
class Told:
    """What a command says: each of `words` stands in its output, and it ends with `exit_code`.

    Words may have placeholders of the runbook in braces, as `{GROUP}`.
    """

    words: tuple[str, ...]
    exit_code: int = WELL


def says(*words: str, exit_code: int = WELL) -> Told:
    """Return what a command has to say."""
    return Told(words, exit_code)


class Trouble(ABC):
    """One trouble, planted once: `prepare`, then `strike`. All that is started is ended with `stack`."""

    told: ClassVar[Mapping[str, Told]]
    """By the commands of the section, as they stand there."""
    remedies: ClassVar[Mapping[str, Told]] = {}
    """Commands from its sentences, run after those in this order."""
    beside: ClassVar[frozenset[str]] = frozenset()
    """Other alerts that this trouble may raise."""

    def __init__(self, ground: Ground, stack: ExitStack, folder: Path) -> None:
        self.ground = ground
        self.stack = stack
        self.folder = folder
        """For files, empty at the beginning."""
        self.fleet: KproxyFleet = ground.fleet
        self.settings: Settings = ground.fleet.settings
        """What the commands find in their environment, as beside a kproxy that was configured by it."""
        self.asked: KproxyProcess = ground.fleet.kproxies[0]
        """Whose admin port the commands ask."""
        self.labels: Mapping[str, str] = {}
        """What the alert has to have among its labels."""
        self.names: dict[str, str] = {"broker1:9092": ground.cluster.bootstrap_servers}
        """What stands for the placeholders of the runbook."""

    def prepare(self) -> Sequence[KproxyProcess]:
        """Start what is there before the trouble; return whom Prometheus scrapes."""
        return self.ground.fleet.kproxies

    @abstractmethod
    def strike(self) -> None:
        """Plant the trouble. It is there until `stack` ends."""

    def start(
        self, settings: Settings, *, count: int = 1, wall: Wall | None = None, module: str = "kproxy"
    ) -> Sequence[KproxyProcess]:
        """Start a fleet of its own, which is the one that is asked; returns when each is ready."""
        own = {**self.ground.settings_of_a_fleet(), **settings}
        self.settings = own
        kproxies = self.ground.start(own, count, self.stack, wall=wall, module=module)
        self.asked = kproxies[0]
        self.fleet = KproxyFleet(self.ground.cluster, list(kproxies), own)
        if count > 1:
            self.fleet.wait_until_shared_out()
        return kproxies
