from tests.benchmarks.background import CORES_OF_OTHERS
from tests.benchmarks.share_cold_start import COLD_RATE
from tests.benchmarks.share_consumption import RECORD_RATE
from tests.benchmarks.share_latency import COMMIT_MEDIAN
from tests.benchmarks.share_report import result
from tests.benchmarks.share_setting import KPROXY, NATIVE
from tests.benchmarks.workload import Measurements


def measured(*, rate_of_native: float, commit_of_native: float) -> Measurements:
    measurements = Measurements()
    for workload in ("100 B, 1 member", "1 KB, 8 members", "10 KB, 1 member"):
        measurements.add(workload, KPROXY, {RECORD_RATE: 1_000 * rate_of_native, CORES_OF_OTHERS: 0.1})
        measurements.add(workload, NATIVE, {RECORD_RATE: 1_000, CORES_OF_OTHERS: 0.3})
    measurements.add("one record at a time", KPROXY, {COMMIT_MEDIAN: commit_of_native})
    measurements.add("one record at a time", NATIVE, {COMMIT_MEDIAN: 1.0})
    return measurements


def test_rates_of_records_from_a_kilobyte_on_and_commits_have_bars() -> None:
    # When
    bars = result("share", {}, measured(rate_of_native=0.5, commit_of_native=3.0)).values["bars"]

    # Then
    assert [(bar["title"], bar["limit"], bar["met"]) for bar in bars] == [
        ("1 KB, 8 members: rate of the stock broker's", "at least 0.5x", True),
        ("10 KB, 1 member: rate of the stock broker's", "at least 0.5x", True),
        ("one record at a time: commit p50 of the stock broker's", "at most 3x", True),
    ]


def test_what_does_not_reach_its_bar_is_missed() -> None:
    # When
    bars = result("share", {}, measured(rate_of_native=0.49, commit_of_native=3.01)).values["bars"]

    # Then
    assert [bar["met"] for bar in bars] == [False, False, False]


def test_members_that_start_together_must_be_done_as_soon_as_with_the_stock_broker() -> None:
    # Given
    measurements = Measurements()
    measurements.add("10 KB, 8 members that start together", KPROXY, {COLD_RATE: 99.0, CORES_OF_OTHERS: 0.0})
    measurements.add("10 KB, 8 members that start together", NATIVE, {COLD_RATE: 100.0, CORES_OF_OTHERS: 0.0})

    # When
    bars = result("share", {}, measurements).values["bars"]

    # Then
    assert [(bar["title"], bar["limit"], bar["met"]) for bar in bars] == [
        (
            "10 KB, 8 members that start together: rate from the first subscribe of the stock broker's",
            "at least 1x",
            False,
        )
    ]


def test_what_others_did_meanwhile_is_told() -> None:
    # When
    remarks = result("share", {}, measured(rate_of_native=1.0, commit_of_native=1.0)).remarks

    # Then
    assert "used 0.20 cores (median; 0.10 to 0.30)" in remarks[1]
