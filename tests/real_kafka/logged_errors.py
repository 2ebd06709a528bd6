"""What a kproxy logged as an error though nothing was wrong but, perhaps, the speed of the machine."""

from typing import Any, Final

from tests.real_kafka.kproxy_process import KproxyProcess

OF_A_STALLED_MACHINE: Final = frozenset({"backing_cluster_lost"})
"""Brokers were silent for 8 s: so it is for a process that was frozen, and where nobody ran for so long."""


def logged_errors(*kproxies: KproxyProcess) -> list[dict[str, Any]]:
    """Every line of level error so far, but those that a stalled machine brings about by itself."""
    return [
        line
        for kproxy in kproxies
        for line in kproxy.log_events(level="error")
        if line["event"] not in OF_A_STALLED_MACHINE
    ]
