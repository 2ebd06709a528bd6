"""Several members of one share group at work at the same time, each record settled by a rule."""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Final, TypeAlias

from tests.real_kafka.share_member import AcknowledgeType, ReceivedRecord, ShareMember

DEFAULT_TIMEOUT_SECONDS: Final = 60.0
WATCH_INTERVAL_SECONDS: Final = 0.05
POLL_TIMEOUT_MS: Final = 500
COMMIT_TIMEOUT_MS: Final = 30_000
"""What clients wait for any answer by default (`request.timeout.ms`): while a broker is away answers take seconds."""

Rule: TypeAlias = Callable[[ReceivedRecord], AcknowledgeType]
"""What to say of a record. Called by several threads: it looks at the record only."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One record as one member got it, what was said of it, and how the broker answered."""

    member: int
    """The member's place in the sequence given to `consume_together`."""
    record: ReceivedRecord
    how: AcknowledgeType
    error: str | None
    """None when the acknowledgement was answered without an error."""


Enough: TypeAlias = Callable[[Sequence[Delivery]], bool]


class NotConsumed(RuntimeError):
    """The members did not consume what was waited for in time; the message counts what they did."""


def accept(_record: ReceivedRecord) -> AcknowledgeType:
    """Accept every record."""
    return AcknowledgeType.ACCEPT


def release_first_delivery_of_every(nth: int) -> Rule:
    """Release each record whose offset `nth` divides when it is delivered for the first time; accept else."""

    def rule(record: ReceivedRecord) -> AcknowledgeType:
        is_released = record.delivery_count == 1 and record.offset % nth == 0
        return AcknowledgeType.RELEASE if is_released else AcknowledgeType.ACCEPT

    return rule


def reject_every(nth: int) -> Rule:
    """Reject each record whose offset `nth` divides; accept else."""

    def rule(record: ReceivedRecord) -> AcknowledgeType:
        return AcknowledgeType.REJECT if record.offset % nth == 0 else AcknowledgeType.ACCEPT

    return rule


def settled(count: int) -> Enough:
    """Enough when `count` acknowledgements that accept or reject are answered without an error."""

    def is_enough(deliveries: Sequence[Delivery]) -> bool:
        final = {AcknowledgeType.ACCEPT, AcknowledgeType.REJECT}
        return sum(delivery.how in final and delivery.error is None for delivery in deliveries) >= count

    return is_enough


def settle(
    member: ShareMember,
    number: int,
    rule: Rule,
    records: Sequence[ReceivedRecord],
    *,
    is_implicit: bool = False,
) -> list[Delivery]:
    """Acknowledge what a member polled by `rule`, and commit; what came of it. `number` is the member's.

    Who acknowledges implicitly says nothing of single records: `rule` then is what its commit stands for.
    """
    by_type: defaultdict[AcknowledgeType, list[ReceivedRecord]] = defaultdict(list)
    for record in records:
        by_type[rule(record)].append(record)
    if not is_implicit:
        for how, of_type in by_type.items():
            member.acknowledge(of_type, how)
    outcomes = member.commit(timeout_ms=COMMIT_TIMEOUT_MS)
    errors = {(outcome.topic, outcome.partition): outcome.error for outcome in outcomes}
    return [
        Delivery(number, record, how, errors[record.topic, record.partition])
        for how, of_type in by_type.items()
        for record in of_type
    ]


def consume_together(
    members: Sequence[ShareMember],
    rule: Rule,
    *,
    until: Enough,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
) -> list[Delivery]:
    """Let all members poll, acknowledge by `rule` and commit, until the deliveries so far are enough.

    Each member finishes the batch it has, so there may be more deliveries than enough. Raises `NotConsumed`
    when the time is over, which begins when all clients are there, and whatever a member failed with.
    """
    for member in members:
        member.wait_until_ready()
    deliveries: list[Delivery] = []
    stop = threading.Event()
    with ThreadPoolExecutor(len(members), thread_name_prefix="member") as threads:
        loops = [
            threads.submit(_consume, member, number, rule, deliveries, stop)
            for number, member in enumerate(members)
        ]
        try:
            _wait_for_enough(loops, deliveries, until, timeout_seconds)
        finally:
            stop.set()
    for loop in loops:
        loop.result()
    return deliveries


def _consume(
    member: ShareMember, number: int, rule: Rule, deliveries: list[Delivery], stop: threading.Event
) -> None:
    while not stop.is_set():
        records = member.poll(timeout_ms=POLL_TIMEOUT_MS)
        if records:
            deliveries.extend(settle(member, number, rule, records))


def _wait_for_enough(
    loops: Sequence[Future[None]], deliveries: list[Delivery], until: Enough, timeout_seconds: float
) -> None:
    deadline = time.monotonic() + timeout_seconds
    while not until(deliveries):
        # A loop ends before it is told to only when its member failed.
        ended, _ = wait(loops, timeout=WATCH_INTERVAL_SECONDS, return_when=FIRST_EXCEPTION)
        for loop in ended:
            loop.result()
        if time.monotonic() > deadline:
            raise NotConsumed(summary(deliveries, timeout_seconds))


def summary(deliveries: Sequence[Delivery], timeout_seconds: float) -> str:
    """What was delivered in so much time, counted by what was said and answered."""
    counts = Counter((delivery.how.value, delivery.error) for delivery in deliveries)
    return f"not enough after {timeout_seconds:.0f} s: {dict(counts)}"
