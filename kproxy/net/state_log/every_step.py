"""Steps of which each is to be taken, whatever became of the ones before it."""

from collections.abc import Callable

from kproxy.telemetry import logs

log = logs.logger("net.state_log")


def take_every_step(event: str, *steps: Callable[[], object]) -> None:
    """Take all of `steps`, in this order; log a fault of kproxy's own in one of them as `event`. Raises nothing.

    For the end of slots: one that goes on because another met a fault would serve what is another process's.
    """
    for step in steps:
        try:
            step()
        except Exception as fault:  # noqa: BLE001 - whatever it is, the other steps must be taken
            log.crash(event, fault)
