"""What a kproxy logged as an error, but for what a machine that stood still brings about by itself."""

from typing import Any, Final

from tests.real_kafka.kproxy_process import KproxyProcess

MOST_STALLS: Final = 2
"""Of one process: who goes on saying so believes something that is not so."""

OF_A_STALLED_MACHINE: Final = frozenset({"backing_cluster_lost"})
"""Brokers were silent for 8 s: so it is for a process that was frozen, and where nobody ran for so long."""


def logged_errors(*kproxies: KproxyProcess) -> list[dict[str, Any]]:
    """Every line of level error so far, but the first few that a stalled machine brings about by itself."""
    errors = []
    for kproxy in kproxies:
        stalls = 0
        for line in kproxy.log_events(level="error"):
            stalls += line["event"] in OF_A_STALLED_MACHINE
            if line["event"] not in OF_A_STALLED_MACHINE or stalls > MOST_STALLS:
                errors.append(line)
    return errors
