from kproxy.jobs.run_report import RunReport
from kproxy.jobs.sources.log_reader import Gap


def test_missing_records_are_told_at_once_and_kept_for_the_summary() -> None:
    # Given
    said: list[str] = []
    report = RunReport(said.append)
    gap = Gap(3, 5, 10, "deleted")

    # When
    report.missing([gap])

    # Then
    assert said == ["Warning: partition 3: offsets 5-9 are missing: deleted"]
    assert report.gaps == [gap]
