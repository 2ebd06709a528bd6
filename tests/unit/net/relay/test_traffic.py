"""What passed, on its way to the metrics."""

from kproxy.interception.routing import RoutingTable
from kproxy.net.relay.traffic import Traffic
from tests.worlds.backing import CountedThings


def test_a_report_hands_over_what_passed_since_the_last_one() -> None:
    traffic, counted = Traffic(from_clients=10, to_brokers=20), CountedThings()
    traffic.requests[3, 11] = 2
    traffic.requests[0, 9] = 5
    traffic.report(counted, RoutingTable({}))
    traffic.from_clients += 1

    traffic.report(counted, RoutingTable({}))

    assert counted.of("bytes", "client", "in") == 11
    assert counted.of("bytes", "broker", "out") == 20
    assert counted.of("requests", "Metadata", "11", "rewrite") == 2
    assert counted.of("requests", "Produce", "9", "forward") == 5
