"""What has to hold whatever befell a fleet, seen from its clients alone."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from tests.real_kafka.accepter import Answer, Receipt, RecordId

TOLD: Final = 20
"""How many violations of one kind are told at most."""
LATE_SECONDS: Final = 1.0
"""For how long a member may have had a record before its poll began: what a fetch brings, several polls may give."""

NOTED_SECONDS: Final = 0.2
"""How much less than a lock may lie between two notes of kproxy: it writes each a moment after it acquired."""

Span: TypeAlias = tuple[float, float]
"""From one moment to another, in seconds of `time.monotonic`."""


def delivered_after_its_answer(
    receipts: Iterable[Receipt],
    answers: Iterable[Answer],
    acquired_at: Mapping[RecordId, float] | None = None,
) -> list[str]:
    """Return records that a poll gave which began after their acceptance was answered: that one was undone.

    Two members may be answered for one record, as by a stock broker: who acknowledges when its lock has expired, and
    what it held has been accepted by the next holder, is told of no error (`SharePartition.acknowledge` passes over
    offsets below the start offset). So the first answer counts.

    A poll may also give what a client has had for seconds, while it waited for something else, or what was that long
    under way to it: acquired before the answer, lost, and accepted by the next holder, which may be the same client. So
    where it is known when kproxy let somebody acquire a record for the last time, that has to be after the answer, too.
    """
    answered_at: dict[RecordId, float] = {}
    for answer in answers:
        answered_at[answer.record] = min(answer.at, answered_at.get(answer.record, answer.at))
    return [
        f"{receipt.record} answered at {answered_at[receipt.record]:.3f}, asked for at {receipt.asked_at:.3f}, "
        f"got at {receipt.got_at:.3f}"
        for receipt in receipts
        if answered_at.get(receipt.record, math.inf)
        < min(
            receipt.asked_at, math.inf if acquired_at is None else acquired_at.get(receipt.record, math.inf)
        )
    ][:TOLD]


def held_by_two_at_once(
    receipts: Iterable[Receipt],
    *,
    unquiet: Sequence[Span],
    claimed_at: Mapping[str, Sequence[float]],
    lock_seconds: float,
    acquired_at: Mapping[RecordId, Sequence[float]] | None = None,
) -> list[str]:
    """Return records that were delivered twice within the time of a lock, though nothing had happened meanwhile.

    In `unquiet` spans who has a record may lose it, and hears so: of its two holders one is answered only, which the
    journals show. So it is when the slot of its group was claimed, which ends every lock: `claimed_at` says when, by
    topic. The coordinator of a fleet may share slots out once more when all groups had gone on.

    A poll may also give what a client has had for longer than a lock lasts, and another one was given meanwhile. So
    where it is known when kproxy let somebody acquire a record, in order, two of those times have to be as near to each
    other, or there are fewer of them by then than deliveries.
    """
    of_record: defaultdict[RecordId, list[Receipt]] = defaultdict(list)
    for receipt in sorted(receipts, key=lambda each: each.got_at):
        of_record[receipt.record].append(receipt)

    def is_undisturbed(began: float, over: float, topic: str) -> bool:
        return not any(since < over and began < until for since, until in unquiet) and not any(
            began - LATE_SECONDS < moment < over for moment in claimed_at.get(topic, ())
        )

    def is_explained(record: RecordId, got_at: float, delivery_count: int) -> bool:
        if acquired_at is None:
            return False
        times = [moment for moment in acquired_at.get(record, ()) if moment <= got_at]
        return len(times) >= delivery_count and not any(
            later - earlier < lock_seconds - NOTED_SECONDS and is_undisturbed(earlier, later, record[0])
            for earlier, later in pairwise(times)
        )

    return [
        f"{record} by {one.member} at {one.got_at:.3f} and by {other.member} at {other.got_at:.3f}"
        for record, deliveries in of_record.items()
        for number, (one, other) in enumerate(pairwise(deliveries), start=2)
        if other.asked_at - one.got_at < lock_seconds
        and is_undisturbed(one.asked_at, other.got_at, record[0])
        and not is_explained(record, other.got_at, number)
    ][:TOLD]
