"""How deliveries end, and what the headers of the log say of it: those of now, and those of earlier kproxies."""

from dataclasses import replace
from typing import Final

from kproxy.share.record_state import AcknowledgeType, RecordState
from kproxy.share.state_batches import StateBatch
from kproxy.statelog.actors import Actor, Cause, OffsetRange

AVAILABLE, ACKNOWLEDGED, ARCHIVED = RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVED

ENDS: Final = {
    "accept": (Cause.ACKNOWLEDGE, AcknowledgeType.ACCEPT, ACKNOWLEDGED),
    "reject": (Cause.ACKNOWLEDGE, AcknowledgeType.REJECT, ARCHIVED),
    "gap": (Cause.ACKNOWLEDGE, AcknowledgeType.GAP, ARCHIVED),
    "release": (Cause.ACKNOWLEDGE, AcknowledgeType.RELEASE, AVAILABLE),
    "lock-timeout": (Cause.LOCK_TIMEOUT, None, AVAILABLE),
    "session-close": (Cause.SESSION_CLOSE, None, AVAILABLE),
}
"""How a delivery ends: the event, its cause, the type of the acknowledgement and the state after it."""
EARLIER: Final = "earlier-"
"""Before one of `ENDS`: what an earlier kproxy wrote of it."""


def at_limit(batch: StateBatch) -> str | None:
    """Return what ended records that were to be delivered again."""
    return None if batch.state is AVAILABLE else "delivery-limit"


def settling(actor: Actor, batch: StateBatch, acknowledge_type: AcknowledgeType | None) -> Actor:
    """Return the actor as one that brought `batch` about."""
    is_return = acknowledge_type in (None, AcknowledgeType.RELEASE)
    is_at_limit = is_return and batch.state is ARCHIVED
    return replace(actor, acknowledge_type=acknowledge_type, is_at_delivery_limit=is_at_limit)


def of_earlier_kproxy(actor: Actor, event: str, ended_by: str | None) -> tuple[Actor, str, str | None]:
    """Return what an earlier kproxy wrote of an actor, and the event and the end that are known from that."""
    earlier = replace(actor, acknowledge_type=None, is_at_delivery_limit=False, version=0)
    if actor.cause is not Cause.ACKNOWLEDGE and ended_by is not None:
        earlier, event = replace(earlier, cause=Cause.DELIVERY_LIMIT), "delivery-limit"
    if actor.cause is Cause.LOCK_TIMEOUT:
        earlier = replace(earlier, client_id="", client_host="")
    if actor.cause is Cause.ACKNOWLEDGE and ended_by not in (None, "accept"):
        return earlier, "finished", "not-recorded"
    return earlier, event, ended_by


def over(actor: Actor, *batches: StateBatch) -> Actor:
    """Return the actor as one that changed these batches."""
    ranges: tuple[OffsetRange, ...] = tuple((batch.first_offset, batch.last_offset) for batch in batches)
    return replace(actor, offset_ranges=ranges)
