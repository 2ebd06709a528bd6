"""What operators hear of slots: each thing once, counted each time."""

from dataclasses import dataclass

import pytest

from kproxy.errors import UnsupportedStateRecord
from kproxy.net.state_log.partition_writer import Doubt
from kproxy.net.state_log.reports import DELAYS_BEFORE_WARNING, SlotReports
from kproxy.telemetry.metrics import Metrics
from tests.worlds.state_logs import MeasuredThings, alarms


@dataclass
class LoadedThings:
    """A slot that was loaded."""

    record_count: int = 7
    seconds: float = 0.25


def test_every_report_is_made_of_counters_that_are_declared() -> None:
    # Given
    metrics = Metrics()
    reports = SlotReports(metrics)

    # When
    reports.appended("__kproxy_share_state", records=2, batch_bytes=300, seconds=0.001)
    reports.loaded(0, LoadedThings())
    reports.delayed(0, "no leader")
    for doubt in Doubt:
        reports.left(0, doubt, "detail")
    reports.stopped(0, "corrupt")
    reports.stopped(0, UnsupportedStateRecord("newer"))
    reports.begun_anew("workers", 0, 2)
    for reason in ("refused", "late"):
        reports.refused("__kproxy_share_state-0", reason=reason, detail="no", advice="look")

    # Then
    assert metrics.counted("statelog_refusals", "refused") == 1
    assert metrics.counted("statelog_records", "__kproxy_share_state") == 2
    assert metrics.counted("statelog_rebuilds", "fenced") == 1
    assert metrics.counted("statelog_truncations") == 1
    assert metrics.counted("statelog_corrupt_slots") == 1
    assert metrics.counted("statelog_newer_formats") == 1
    assert metrics.counted("statelog_lost_states") == 2


def test_an_append_is_counted_with_its_size_and_its_time() -> None:
    # Given
    measured = MeasuredThings()

    # When
    SlotReports(measured).appended("topic", records=2, batch_bytes=300, seconds=0.001)

    # Then
    assert dict(measured.counts) == {("statelog_records", "topic"): 2, ("statelog_bytes", "topic"): 300}
    assert measured.observations == [("statelog_append_seconds", 0.001)]


def test_a_loaded_slot_is_counted_with_its_records_and_its_time() -> None:
    # Given
    measured = MeasuredThings()

    # When
    SlotReports(measured).loaded(3, LoadedThings())

    # Then
    assert dict(measured.counts) == {("statelog_replayed_records",): 7}
    assert measured.observations == [("statelog_replay_seconds", 0.25)]


def delays_said(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(record.msg, record.levelname) for record in caplog.records if record.levelname != "DEBUG"]


def test_a_slot_that_has_to_wait_says_so_and_warns_when_it_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    # Given
    caplog.set_level("INFO")
    measured = MeasuredThings()
    reports = SlotReports(measured)

    # When
    for _ in range(DELAYS_BEFORE_WARNING + 3):
        reports.delayed(0, "no leader")
    reports.loaded(0, LoadedThings())
    reports.delayed(0, "no leader again")

    # Then
    assert delays_said(caplog) == [("slot_delayed", level) for level in ("INFO", "WARNING", "INFO")]
    assert measured.counts["statelog_delays",] == DELAYS_BEFORE_WARNING + 4


def test_of_many_slots_that_wait_one_speaks(caplog: pytest.LogCaptureFixture) -> None:
    # Given
    caplog.set_level("INFO")
    reports = SlotReports(MeasuredThings())

    # When
    for _ in range(DELAYS_BEFORE_WARNING):
        for slot in range(50):
            reports.delayed(slot, "no leader")

    # Then
    assert delays_said(caplog) == [("slot_delayed", "INFO"), ("slot_delayed", "WARNING")]


DOUBTS = [
    (Doubt.FENCED, []),
    (Doubt.FOREIGN_WRITE, [("slot_rebuilt", "WARNING")]),
    (Doubt.TRUNCATED, [("state_log_truncated", "ERROR")]),
    (Doubt.UNKNOWN_OUTCOME, [("slot_rebuilt", "WARNING")]),
]


@pytest.mark.parametrize(("doubt", "lines"), DOUBTS)
def test_how_loud_a_loss_is_said_depends_on_why(
    doubt: Doubt, lines: list[tuple[str, str]], caplog: pytest.LogCaptureFixture
) -> None:
    # Given
    measured = MeasuredThings()

    # When
    SlotReports(measured).left(4, doubt, "detail")

    # Then
    assert [(record.msg, record.levelname) for record in alarms(caplog)] == lines
    assert measured.counts["statelog_rebuilds", doubt.value] == 1


def test_a_slot_that_cannot_be_served_is_an_error_with_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    # Given
    measured = MeasuredThings()

    # When
    SlotReports(measured).stopped(4, "topic-4: offset 7: impossible")

    # Then
    (line,) = alarms(caplog)
    assert getattr(line, "event_keys", {}) == {"slot": 4, "reason": "topic-4: offset 7: impossible"}
    assert measured.counts["statelog_corrupt_slots",] == 1
