"""A whole kproxy whose turns of the loop are measured: `python -m tests.hostile.measured_proxy`.

Its argument is JSON: the ports of the brokers, and the port of node 1. Each line of standard input is a command, each
line of standard output its answer, as JSON: `state`, `begin` (measure from now on; with memory where it says `memory`)
and `figures`.
"""

import asyncio
import gc
import json
import selectors
import sys
import threading
import time
import tracemalloc
from typing import Any, Final

from kproxy.admin.views import ProxyState
from kproxy.application.proxy import Proxy
from kproxy.net.relay.early_ports import EarlyPorts
from kproxy.settings import HostPort, Settings, ShareUpstream
from kproxy.telemetry import logs

HERE: Final = "127.0.0.1"


class TurnSelector(selectors.DefaultSelector):  # type: ignore[misc, valid-type, unused-ignore]  # chosen by the system
    """Knows how much processor time the longest turn of its loop took: that between two looks at the sockets."""

    def __init__(self) -> None:
        super().__init__()
        self.longest_s = 0.0
        self._began: float | None = None

    def select(self, timeout: float | None = None) -> Any:
        """Wait for sockets; what comes before and behind is the loop's own work."""
        if self._began is not None:
            self.longest_s = max(self.longest_s, time.thread_time() - self._began)
        try:
            return super().select(timeout)
        finally:
            self._began = time.thread_time()


class MeasuredProxy:
    """kproxy on a loop of `TurnSelector`, and who asks it."""

    def __init__(self, broker_ports: list[int], port: int) -> None:
        self._selector = TurnSelector()
        self._memory_before = 0
        settings = Settings(
            bootstrap_servers=tuple(HostPort(HERE, each) for each in broker_ports),
            listen=HostPort(HERE, 0),
            broker_port_map={1: port},
            advertised_host=HERE,
            admin_listener=None,
            share_upstream=ShareUpstream.REFUSE,
        )
        self._proxy = Proxy(settings, EarlyPorts())

    def run(self) -> None:
        """Serve until standard input ends."""
        threading.Thread(target=self._obey, daemon=True).start()
        with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(self._selector)) as runner:
            runner.run(self._proxy.start())

    def _obey(self) -> None:
        commands = {"state": self._state, "begin": self._begin, "begin memory": self._begin_memory}
        for line in sys.stdin:
            print(json.dumps(commands.get(line.strip(), self._figures)()), flush=True)
        self._proxy.shutdown.request()

    def _state(self) -> dict[str, object]:
        vitals = self._proxy._vitals
        failed = [each.check for each in vitals.readiness().named_results() if not each.is_passed]
        return {"is_ready": vitals.state is ProxyState.READY and not failed}

    def _begin(self) -> dict[str, object]:
        tracemalloc.stop()
        gc.collect()
        self._selector.longest_s = 0.0
        return {}

    def _begin_memory(self) -> dict[str, object]:
        gc.collect()
        tracemalloc.start()
        self._memory_before, _ = tracemalloc.get_traced_memory()
        return {}

    def _figures(self) -> dict[str, object]:
        _, peak = tracemalloc.get_traced_memory()
        return {"longest_ms": 1_000 * self._selector.longest_s, "memory_bytes": peak - self._memory_before}


if __name__ == "__main__":
    logs.configure("text", "error")
    gc.freeze()
    gc.set_threshold(10_000)
    MeasuredProxy(**json.loads(sys.argv[1])).run()
