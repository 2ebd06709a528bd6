"""What is shown of a run of offsets."""

from kproxy.share.identifiers import MemberId
from kproxy.share.offset_ranges import AcquisitionLock, InFlightRange
from kproxy.share.record_state import RecordState
from kproxy.share.share_partition_view import InFlightRangeView, view_of


def test_of_an_acquired_run_its_member_and_its_lock_are_shown() -> None:
    lock = AcquisitionLock(MemberId("alice"), 900, duration_ms=30)
    run = InFlightRange(3, 5, RecordState.ACQUIRED, 2, lock)
    assert view_of(run) == InFlightRangeView(3, 5, RecordState.ACQUIRED, 2, MemberId("alice"), 900, 30)


def test_a_run_that_nobody_holds_is_shown_without_a_member() -> None:
    run = InFlightRange(3, 5, RecordState.ARCHIVED, 2, None)
    assert view_of(run) == InFlightRangeView(3, 5, RecordState.ARCHIVED, 2, None, None)
