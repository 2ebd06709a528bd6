import random
from dataclasses import dataclass

import pytest

from tests.benchmarks.sizing_acknowledgements import ACCEPT, RELEASE, Way, acknowledgements
from tests.benchmarks.sizing_costs import (
    APPENDS,
    BROKER_CPU,
    KPROXY_CPU,
    LOG_BYTES,
    LOG_RECORDS,
    Cost,
    megabytes_a_day,
)


@dataclass
class Run:
    first_offset: int
    last_offset: int
    delivery_count: int = 1


def told(way: Way, *delivered: Run) -> list[tuple[int, int, int]]:
    return list(acknowledgements(delivered, way, random.Random(1)))


def test_neighbouring_runs_are_acknowledged_as_one_up_to_the_size_of_an_acknowledgement() -> None:
    # When
    found = told(Way("", at_once=4), Run(0, 2), Run(3, 4), Run(8, 8))

    # Then
    assert found == [(0, 3, ACCEPT), (4, 4, ACCEPT), (8, 8, ACCEPT)]


def test_records_that_are_released_first_are_accepted_at_their_second_delivery() -> None:
    # When
    found = told(Way("", at_once=10, releases_first=True), Run(0, 4, delivery_count=2), Run(5, 9))

    # Then
    assert found == [(0, 4, ACCEPT), (5, 9, RELEASE)]


def test_out_of_order_every_record_is_still_acknowledged_once() -> None:
    # When
    found = told(Way("", at_once=1, is_in_order=False), Run(0, 99))

    # Then
    assert found != sorted(found)
    assert sorted(found) == [(offset, offset, ACCEPT) for offset in range(100)]


def test_costs_are_told_by_record_and_by_a_thousand_of_them() -> None:
    # Given
    cost = Cost(log_bytes=4_000, log_records=40, appends=20, kproxy_seconds=0.1, broker_seconds=0.2)

    # When
    found = cost.of_records(2_000)

    # Then
    assert found == {LOG_BYTES: 2, LOG_RECORDS: 20, APPENDS: 10, KPROXY_CPU: 50, BROKER_CPU: 100}


def test_a_thousand_records_a_second_with_ten_bytes_each_are_864_megabytes_a_day() -> None:
    # When / Then
    assert megabytes_a_day(10, 1_000) == pytest.approx(864)
