"""A kproxy that a test kills again and again, at the moments of an append that it chooses."""

import json
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

from tests.real_kafka.child import ChildTimedOut
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.kproxy_with_failpoints import Failpoint

MODULE: Final = "tests.real_kafka.kproxy_with_failpoints"
BIRTH_TIMEOUT_SECONDS: Final = 60.0

NEVER: Final = Failpoint("", "", 0)
"""For a life that ends from outside."""

Append: TypeAlias = Mapping[str, Any]
"""A batch of the state log: topic, partition, producer_id, producer_epoch, base_sequence, kinds."""


@dataclass(frozen=True, slots=True)
class Death:
    """The end of one life."""

    failpoint: Failpoint
    is_planned: bool
    """Whether it died at its failpoint, and not from outside."""
    in_flight: Sequence[Append]
    """What kproxy waited for when it died."""
    appends: int
    """How many were answered in this life."""
    died_at: float
    """In seconds of `time.monotonic`."""

    @property
    def moment(self) -> str:
        """Where it died, in words."""
        return f"{self.failpoint.kind} {self.failpoint.moment}" if self.is_planned else "outside"


class MortalKproxy(KproxyProcess):
    """The same ports and the same state topics in every life; nothing runs before the first one."""

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        node_ids: Sequence[int] = (1,),
        settings: Mapping[str, str | int] | None = None,
    ) -> None:
        """Import kproxy, and wait for `begin_life`."""
        super().__init__(bootstrap_servers, node_ids=node_ids, settings=settings, module=MODULE)
        self._life_id = 0
        self._failpoint = NEVER

    def begin_life(self, failpoint: Failpoint = NEVER) -> None:
        """Let it run until `failpoint`; returns when its process is there."""
        self._failpoint = failpoint
        self.send_line(json.dumps(asdict(failpoint)))
        self._life_id = self._next(BIRTH_TIMEOUT_SECONDS)["process_id"]

    def end_life(self) -> Death:
        """SIGKILL from outside, wherever it is."""
        os.kill(self._life_id, signal.SIGKILL)
        return self.wait_for_death(timeout_seconds=BIRTH_TIMEOUT_SECONDS)

    def signal_life(self, number: int) -> None:
        """Send a signal to the process that lives now."""
        os.kill(self._life_id, number)

    def wait_for_death(self, *, timeout_seconds: float) -> Death:
        """Return how the life ended; when it does not in time it is ended from outside."""
        deadline = time.monotonic() + timeout_seconds
        in_flight: list[Append] = []
        appends, is_planned = 0, False
        while True:
            try:
                event = self._next(deadline - time.monotonic())
            except ChildTimedOut:
                os.kill(self._life_id, signal.SIGKILL)
                deadline = time.monotonic() + BIRTH_TIMEOUT_SECONDS
                continue
            match event["event"]:
                case "handed":
                    in_flight += event["appends"]
                case "answered":
                    in_flight = [append for append in in_flight if append not in event["appends"]]
                    appends += len(event["appends"])
                case "killing":
                    is_planned = True
                case "died":
                    assert event["status"] == -signal.SIGKILL, f"{event}: {self.errors()[-2000:]}"
                    return Death(self._failpoint, is_planned, in_flight, appends, time.monotonic())
                case other:
                    raise AssertionError(other)

    def _next(self, timeout_seconds: float) -> dict[str, Any]:
        """The next event; what kproxy itself prints is passed over."""
        deadline = time.monotonic() + timeout_seconds
        while True:
            line = self.next_line(timeout_seconds=deadline - time.monotonic())
            if line.startswith("{"):
                event: dict[str, Any] = json.loads(line)
                return event
