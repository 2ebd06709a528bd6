"""Which rows of a log say what happened to records, and what that was: as `kproxy.jobs.history.changes` has it. Pure.

That module says the same in expressions of Spark; a test holds both to the same answers.
"""

from typing import Final

from kproxy.clients.history.silver_rows import CAUSES_OF_RECORDS, SilverRow
from kproxy.notation import iso_time
from kproxy.share.record_state import UNDELIVERABLE_STATES, RecordState
from kproxy.statelog.actors import Cause, RecordEnd

FINISHED: Final = "finished"
"""In a terminal state; the log does not say by which acknowledgement."""
NOT_RECORDED: Final = "not-recorded"
"""What ended records in a terminal state, where the log does not say it."""

_RELEASE: Final = "release"
_APPLIED: Final = "applied"


def is_applied(row: SilverRow) -> bool:
    """Tell whether the record of a row counts."""
    return row.get("outcome") == _APPLIED


def is_change(row: SilverRow) -> bool:
    """Tell whether a row is a change of records, and does not repeat the state before it."""
    if not is_applied(row) or row.get("first_offset") is None:
        return False
    cause, state = row.get("cause"), row.get("state")
    if cause is None:
        # The early forms of the log fill in records that were never given back: available, delivered 0 times.
        is_filler = state == RecordState.AVAILABLE and row.get("delivery_count") == 0
        return row["kind"] == "update" and state is not None and not is_filler
    if cause == Cause.LOG_START_MOVED:
        return state is None
    return Cause(cause) not in CAUSES_OF_RECORDS


def event_of(row: SilverRow) -> str:
    """Return what happened: an acknowledgement by its type, else the cause as the log spells it."""
    acknowledge_type, cause = row.get("acknowledge_type"), row.get("cause")
    if acknowledge_type is not None:
        return str(acknowledge_type)
    if cause not in (None, Cause.ACKNOWLEDGE.value):
        return str(cause)
    if row.get("state") == RecordState.ACKNOWLEDGED:
        return RecordEnd.ACCEPT.value
    return _RELEASE if row.get("state") == RecordState.AVAILABLE else FINISHED


def ended_by(row: SilverRow) -> str | None:
    """Return what ended the records of a change for good; None when they go on."""
    told, event = row.get("ended_by"), event_of(row)
    if told is not None:
        return str(told)
    if event == RecordEnd.ACCEPT.value:
        return event
    if event == Cause.DELIVERY_LIMIT.value:
        return RecordEnd.DELIVERY_LIMIT.value
    is_terminal = row.get("state") in UNDELIVERABLE_STATES
    if is_terminal and event == Cause.OPERATOR.value:
        return event
    return NOT_RECORDED if is_terminal or event == FINISHED else None


def time_text(epoch_ms: int) -> str:
    """Return a time as the answers of `kproxy replay` have it: milliseconds where there are any."""
    return iso_time(epoch_ms).replace(".000Z", "Z")
