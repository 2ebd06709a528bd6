"""`LeaseClock`: the time that leases are counted in."""

import time
from typing import Final

_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class LeaseClock:
    """`Clock`: milliseconds since some fixed moment, never backwards, and not standing still while a machine sleeps.

    Linux's CLOCK_MONOTONIC stops when a virtual machine is suspended, and with it `MonotonicClock`; other systems than
    Linux have nothing else.
    """

    def now_ms(self) -> int:
        return time.clock_gettime_ns(_CLOCK) // 1_000_000
