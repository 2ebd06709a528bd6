"""What has to hold whatever befell a fleet, seen from its clients alone."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from tests.real_kafka.accepter import Answer, Receipt, RecordId

TOLD: Final = 20
"""How many violations of one kind are told at most."""

Span: TypeAlias = tuple[float, float]
"""From one moment to another, in seconds of `time.monotonic`."""


def delivered_after_its_answer(receipts: Iterable[Receipt], answers: Iterable[Answer]) -> list[str]:
    """Return records that a poll gave which began after their acceptance was answered: that one was undone.

    Two members may be answered for one record, as by a stock broker: who acknowledges when its lock has expired, and
    what it held has been accepted by the next holder, is told of no error (`SharePartition.acknowledge` passes over
    offsets below the start offset). So the first answer counts.
    """
    answered_at: dict[RecordId, float] = {}
    for answer in answers:
        answered_at[answer.record] = min(answer.at, answered_at.get(answer.record, answer.at))
    return [
        f"{receipt.record} answered at {answered_at[receipt.record]:.3f}, asked for at {receipt.asked_at:.3f}, "
        f"got at {receipt.got_at:.3f}"
        for receipt in receipts
        if answered_at.get(receipt.record, receipt.asked_at) < receipt.asked_at
    ][:TOLD]


def held_by_two_at_once(
    receipts: Iterable[Receipt], *, unquiet: Sequence[Span], lock_seconds: float
) -> list[str]:
    """Return records that were delivered twice within the time of a lock, though nothing had happened meanwhile.

    In `unquiet` spans who has a record may lose it, and hears so: of its two holders one is answered only, which the
    journals show.
    """
    of_record: defaultdict[RecordId, list[Receipt]] = defaultdict(list)
    for receipt in sorted(receipts, key=lambda each: each.got_at):
        of_record[receipt.record].append(receipt)
    return [
        f"{record} at {one.got_at:.3f} and at {other.got_at:.3f}"
        for record, deliveries in of_record.items()
        for one, other in pairwise(deliveries)
        if other.asked_at - one.got_at < lock_seconds
        and not any(began < other.got_at and one.asked_at < over for began, over in unquiet)
    ][:TOLD]
