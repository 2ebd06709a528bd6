"""A kproxy whose wall clock a test moves by hours."""

import json
import time
from collections.abc import Mapping
from typing import Final

from kproxy.notation import timestamp_ms_of
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.kproxy_with_own_time import CLOCK_AHEAD

MODULE: Final = "tests.real_kafka.kproxy_with_own_time"
HOUR_MS: Final = 3_600_000
HEARD_WITHIN_MS: Final = 60_000


class JumpingKproxy(KproxyProcess):
    """Its wall clock is `hours` ahead of the machine's, or behind it when that is less than 0."""

    def __init__(
        self, bootstrap_servers: str, *, settings: Mapping[str, str | int] | None = None, hours: int = 0
    ) -> None:
        """Start it."""
        super().__init__(
            bootstrap_servers,
            settings=settings,
            environment={CLOCK_AHEAD: str(hours * HOUR_MS)},
            module=MODULE,
        )

    def jump_to(self, hours: int) -> None:
        """Let its wall clock be so many hours ahead from now on; returns when it is."""
        self.send_line(str(hours * HOUR_MS))
        self.wait_until(lambda: abs(self._ahead_ms() - hours * HOUR_MS) < HEARD_WITHIN_MS)

    def _ahead_ms(self) -> int:
        _, body = self._get("/api/v1/status")
        return timestamp_ms_of(json.loads(body)["asOf"]) - time.time_ns() // 1_000_000
