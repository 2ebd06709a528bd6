"""Members of one share group that work while others of them are killed and added."""

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self, TypeAlias

from tests.real_kafka.child import ChildEnded
from tests.real_kafka.consumption import (
    POLL_TIMEOUT_MS,
    WATCH_INTERVAL_SECONDS,
    Delivery,
    Enough,
    NotConsumed,
    Rule,
    settle,
    summary,
)
from tests.real_kafka.share_member import ReceivedRecord, ShareMember

KILLED: Final = "killed"
"""The error of what a member had in hand when it was killed: nobody knows what came of it."""

StartNth: TypeAlias = Callable[[int], ShareMember]


@dataclass(slots=True)
class _Worker:
    number: int
    member: ShareMember
    thread: threading.Thread = field(default_factory=threading.Thread)
    is_killed: bool = False
    failure: BaseException | None = None


class Crew:
    """Members, each with the thread that lets it poll, acknowledge by one rule and commit, until the block ends.

    `start` starts the member of a number from 0. A member that fails is told by `wait_until`, and by the block's end.
    """

    def __init__(self, start: StartNth, rule: Rule, *, is_implicit: bool = False) -> None:
        self.deliveries: list[Delivery] = []
        """All so far, in the order in which they were settled."""
        self._start = start
        self._rule = rule
        self._is_implicit = is_implicit
        self._workers: list[_Worker] = []
        self._is_over = threading.Event()

    def add(self, count: int) -> None:
        """Let so many more members work."""
        for _ in range(count):
            number = len(self._workers)
            worker = _Worker(number, self._start(number))
            worker.thread = threading.Thread(target=self._work, args=[worker], name=f"member {number}")
            self._workers.append(worker)
            worker.thread.start()

    def kill(self, count: int) -> None:
        """SIGKILL those that have been there longest, wherever they are."""
        alive = [worker for worker in self._workers if not worker.is_killed]
        for worker in alive[:count]:
            worker.is_killed = True
            # Its thread may be reading from it: what is read is closed when that has ended.
            os.kill(worker.member.process_id, signal.SIGKILL)
            worker.thread.join()
            worker.member.kill()

    def wait_until(self, is_enough: Enough, *, timeout_seconds: float) -> None:
        """Return when the deliveries are enough; raises `NotConsumed`, or what a member failed with."""
        deadline = time.monotonic() + timeout_seconds
        while not is_enough(self.deliveries):
            self._raise_failures()
            if time.monotonic() > deadline:
                raise NotConsumed(summary(self.deliveries, timeout_seconds))
            time.sleep(WATCH_INTERVAL_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_class: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_over.set()
        for worker in self._workers:
            worker.thread.join()
        for worker in self._workers:
            worker.member.__exit__(error_class, error, traceback)
        if error is None:
            self._raise_failures()

    def _raise_failures(self) -> None:
        for worker in self._workers:
            if worker.failure is not None:
                raise worker.failure

    def _work(self, worker: _Worker) -> None:
        try:
            while not self._is_over.is_set():
                if records := worker.member.poll(timeout_ms=POLL_TIMEOUT_MS):
                    self.deliveries += self._settled(worker, records)
        except BaseException as failure:  # noqa: BLE001 - raised again by who waits
            if not (worker.is_killed and isinstance(failure, ChildEnded)):
                worker.failure = failure

    def _settled(self, worker: _Worker, records: list[ReceivedRecord]) -> list[Delivery]:
        try:
            return settle(worker.member, worker.number, self._rule, records, is_implicit=self._is_implicit)
        except ChildEnded:
            if not worker.is_killed:
                raise
            return [Delivery(worker.number, record, self._rule(record), KILLED) for record in records]
