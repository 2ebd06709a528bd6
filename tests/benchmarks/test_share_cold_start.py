import pytest

from tests.benchmarks.record_streams import RecordsLost
from tests.benchmarks.share_cold_start import COLD_RATE, FIRST_RECORD, STARTED_RATE, cold_figures
from tests.benchmarks.share_job import MemberReport


def reports() -> list[MemberReport]:
    return [
        MemberReport(subscribed_s=10.0, received=300, first_record_s=12.0, last_answer_s=13.0),
        MemberReport(subscribed_s=10.5, received=700, first_record_s=11.0, last_answer_s=15.0),
        MemberReport(subscribed_s=10.2, last_answer_s=14.0),
    ]


def test_a_cold_start_begins_with_the_first_subscribe_and_ends_with_the_last_answer() -> None:
    # When
    found = cold_figures(reports(), 1_000)

    # Then
    assert found == {
        COLD_RATE: 1_000 / (15.0 - 10.0),
        STARTED_RATE: 1_000 / (15.0 - 11.0),
        FIRST_RECORD: pytest.approx(1.0),
    }


def test_records_that_came_twice_or_not_at_all_have_no_rate() -> None:
    # When / Then
    with pytest.raises(RecordsLost, match="received 1000 records, and there are 999"):
        cold_figures(reports(), 999)
