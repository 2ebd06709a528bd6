"""What passed through the relay, counted in plain integers on the way and handed to the metrics once a second."""

from dataclasses import dataclass, field

from kproxy.interception.routing import RoutingTable
from kproxy.net.counting import Counting
from kproxy.net.observation import api_name


@dataclass(slots=True)
class Traffic:
    """Bytes by direction, as kproxy sees them, and requests by (API key, version)."""

    from_clients: int = 0
    to_clients: int = 0
    from_brokers: int = 0
    to_brokers: int = 0
    open_twins: int = 0
    """Connections to brokers that are open now."""
    requests: dict[tuple[int, int], int] = field(default_factory=dict)

    def report(self, counting: Counting, routes: RoutingTable) -> None:
        """Add everything to the counters `bytes` and `requests`, and begin at 0 again."""
        counting.count("bytes", self.from_clients, "client", "in")
        counting.count("bytes", self.to_clients, "client", "out")
        counting.count("bytes", self.from_brokers, "broker", "in")
        counting.count("bytes", self.to_brokers, "broker", "out")
        self.from_clients = self.to_clients = self.from_brokers = self.to_brokers = 0
        for (api_key, version), amount in self.requests.items():
            disposition = routes.disposition(api_key, version).value
            counting.count("requests", amount, api_name(api_key), str(version), disposition)
        self.requests.clear()
