"""Which processor cores processes run on."""

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Cores:
    """The cores of one placement: those of the relays, and those of everything else."""

    relays: frozenset[int]
    others: frozenset[int]

    @property
    def is_pinned(self) -> bool:
        """Whether relays have a core of their own."""
        return self.relays.isdisjoint(self.others)


class TooFewCores(RuntimeError):
    """A relay cannot have a core of its own here. Raised by `pinned_cores`; the command line prints it."""


def pinned_cores(available: Collection[int]) -> Cores:
    """The last core for the relays, the first for clients and brokers, the others for nobody.

    Raises `TooFewCores` when there is only one.
    """
    if len(available) < 2:
        raise TooFewCores("this benchmark needs two processor cores, one for the relays alone")
    return Cores(relays=frozenset({max(available)}), others=frozenset({min(available)}))


def shared_cores(available: Collection[int]) -> Cores:
    """All cores for everybody."""
    return Cores(frozenset(available), frozenset(available))


def place(process_ids: Iterable[int], cores: Collection[int]) -> None:
    """Let every thread of these processes run on `cores` only; threads that they start later inherit it."""
    for process_id in process_ids:
        _place(process_id, cores)


def _place(process_id: int, cores: Collection[int]) -> None:
    placed: set[int] = set()
    # A thread may start others until it is placed itself.
    while threads := {int(task.name) for task in Path(f"/proc/{process_id}/task").iterdir()} - placed:
        for thread in threads:
            with suppress(ProcessLookupError):
                os.sched_setaffinity(thread, cores)
        placed |= threads
