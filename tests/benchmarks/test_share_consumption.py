import pytest

from tests.benchmarks.record_streams import RecordsLost
from tests.benchmarks.share_consumption import BROKER_CPU, KPROXY_CPU, RECORD_RATE, RECORDS_PER_POLL, figures
from tests.benchmarks.share_job import MemberReport


def reports() -> list[MemberReport]:
    return [
        MemberReport(received=300, polls=1, first_record_s=12.0, last_record_s=12.5, last_answer_s=13.0),
        MemberReport(received=700, polls=3, first_record_s=11.0, last_record_s=13.0, last_answer_s=15.0),
        MemberReport(last_answer_s=14.0),
    ]


def test_a_rate_is_from_the_first_record_of_any_member_to_the_last_answer_to_any() -> None:
    # When
    found = figures(reports(), 1_000, kproxy_seconds=0.002, broker_seconds=0.003)

    # Then
    assert found[RECORD_RATE] == 1_000 / (15.0 - 11.0)
    assert found[RECORDS_PER_POLL] == 250
    assert found[KPROXY_CPU] == pytest.approx(2.0)
    assert found[BROKER_CPU] == pytest.approx(3.0)


def test_where_there_is_no_kproxy_there_is_no_cpu_of_it() -> None:
    # When
    found = figures(reports(), 1_000, kproxy_seconds=0.0, broker_seconds=0.003)

    # Then
    assert KPROXY_CPU not in found


def test_records_that_came_twice_or_not_at_all_have_no_rate() -> None:
    # When / Then
    with pytest.raises(RecordsLost, match="received 1000 records, and there are 999"):
        figures(reports(), 999, kproxy_seconds=0.0, broker_seconds=0.003)
