"""The clock of leases."""

from kproxy.net.fleet.lease_clock import LeaseClock


def test_it_never_goes_back_and_goes_on() -> None:
    clock = LeaseClock()
    readings = [clock.now_ms() for _ in range(1_000)]
    assert readings == sorted(readings)
    while clock.now_ms() == readings[0]:
        pass
