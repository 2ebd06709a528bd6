from tests.benchmarks.background import CORES_OF_OTHERS
from tests.benchmarks.fleet_consumption import ONE, TWO_ANYWHERE, TWO_AT_OWNERS
from tests.benchmarks.fleet_frames import LOCAL, RELAYED, median_of
from tests.benchmarks.fleet_report import result
from tests.benchmarks.share_consumption import RECORD_RATE
from tests.benchmarks.workload import Measurements


def test_ways_are_compared_within_each_round_and_processes_with_one() -> None:
    # Given
    measured = Measurements()
    for local, relayed in ((100.0, 150.0), (200.0, 500.0), (300.0, 600.0)):
        measured.add("one record", LOCAL, {median_of("ShareFetch"): local, CORES_OF_OTHERS: 0.1})
        measured.add("one record", RELAYED, {median_of("ShareFetch"): relayed, CORES_OF_OTHERS: 0.1})
    for arm, rate in ((ONE, 1_000.0), (TWO_AT_OWNERS, 1_500.0), (TWO_ANYWHERE, 1_200.0)):
        measured.add("8 groups", arm, {RECORD_RATE: rate})

    # When
    latencies, _, rates, _ = result("fleet", {}, measured).tables

    # Then
    assert [list(row) for row in latencies.rows] == [
        ["one record: ShareFetch p50", "200", "500", "2.00 [1.50, 2.50]"]
    ]
    assert [list(row) for row in rates.rows] == [
        ["8 groups: rate", "1,000", "1,500", "1,200", "1.50 [1.50, 1.50]", "1.20 [1.20, 1.20]"]
    ]
