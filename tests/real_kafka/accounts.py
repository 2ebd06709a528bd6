"""What became of every record: what was produced, set against what the members were given and said of it."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from tests.real_kafka import administration
from tests.real_kafka.consumption import Delivery
from tests.real_kafka.share_member import AcknowledgeType, ReceivedRecord, ShareMember
from tests.real_kafka.share_members import ShareMemberFactory

RecordId: TypeAlias = tuple[int, int]
"""Partition and offset."""

FINAL_TYPES: Final = frozenset({AcknowledgeType.ACCEPT, AcknowledgeType.REJECT})


def produce_to_every_partition(
    bootstrap_servers: str,
    topic: str,
    *,
    partitions: int = 1,
    each: int,
    batches: int = 1,
    label: str = "record",
) -> dict[RecordId, str]:
    """Produce `each` records to each partition in at least `batches` batches; their values, all different.

    No record is there twice, also when leaders change meanwhile.
    """
    producer = administration.idempotent_producer(bootstrap_servers)
    produced: dict[RecordId, str] = {}
    for partition in range(partitions):
        values = [f"{label} {number} of partition {partition}" for number in range(each)]
        size = -(-each // batches)
        for first in range(0, each, size):
            batch = values[first : first + size]
            offsets = administration.produce_with(producer, topic, batch, partition=partition)
            produced.update(
                {(partition, offset): value for offset, value in zip(offsets, batch, strict=True)}
            )
    return produced


def values_by_id(records: Iterable[ReceivedRecord]) -> dict[RecordId, str | None]:
    """The values of received records."""
    return {(record.partition, record.offset): record.value for record in records}


def counts_by_id(records: Iterable[ReceivedRecord]) -> dict[RecordId, int]:
    """The delivery counts of received records."""
    return {(record.partition, record.offset): record.delivery_count for record in records}


def misaccounted(
    deliveries: Iterable[Delivery],
    produced: dict[RecordId, str],
    *,
    are_settled: bool = False,
    were_killed: bool = False,
) -> dict[RecordId, str]:
    """What is wrong with the history of each record with which something is; empty when all adds up.

    All adds up when each record produced, and no other, was delivered with the value it was produced with and
    with the delivery counts 1, 2, …; when it was accepted or rejected, with an answer, at its last delivery;
    and when it was released, or its acknowledgement was not answered, at every delivery before that.

    Where it is known from elsewhere that all `are_settled`, the last answer may have been an error: what a member
    said may have taken effect although its answer was lost, and the client have asked again.

    Where members `were_killed`, deliveries to them that nobody saw may be missing from the counts.
    """
    histories: defaultdict[RecordId, list[Delivery]] = defaultdict(list)
    for delivery in deliveries:
        histories[delivery.record.partition, delivery.record.offset].append(delivery)
    problems: dict[RecordId, str] = dict.fromkeys(histories.keys() - produced.keys(), "nobody produced it")
    for record_id, value in produced.items():
        history = _in_order(histories[record_id])
        if problem := _problem_of(history, value, are_settled=are_settled, were_killed=were_killed):
            problems[record_id] = f"{problem}: {_written(history)}"
    return problems


def receive_all(member: ShareMember, wanted: Iterable[RecordId], *, polls: int = 60) -> list[ReceivedRecord]:
    """Poll, accepting every record, until each of `wanted` was received or `polls` polls are over; all received.

    An acceptance that is not answered, or refused, is an AssertionError.
    """
    missing, received = set(wanted), list[ReceivedRecord]()
    for _ in range(polls):
        records = _accepted(member)
        received += records
        missing.difference_update(values_by_id(records))
        if not missing:
            break
    return received


def receive_values(member: ShareMember, count: int, *, polls: int = 60) -> list[str | None]:
    """Poll, accepting every record, until `count` records came or `polls` polls are over; their values in order.

    An acceptance that is not answered, or refused, is an AssertionError.
    """
    values: list[str | None] = []
    for _ in range(polls):
        values += [record.value for record in _accepted(member)]
        if len(values) >= count:
            break
    return values


def received_after_the_end(
    start_member: ShareMemberFactory, bootstrap_servers: str, *, group: str, topic: str, partitions: int = 1
) -> tuple[dict[RecordId, str | None], dict[RecordId, str]]:
    """What a member gets that joins a group when all is settled, and one new record of each partition: the same.

    Whatever is still to be delivered again comes before a new record of its partition, or with it.
    """
    last = produce_to_every_partition(bootstrap_servers, topic, partitions=partitions, each=1, label="last")
    with start_member(bootstrap_servers, group=group, topics=[topic]) as member:
        return values_by_id(receive_all(member, last)), last


def _accepted(member: ShareMember) -> list[ReceivedRecord]:
    records = member.poll()
    if records:
        member.acknowledge_all(AcknowledgeType.ACCEPT)
        assert not [outcome for outcome in member.commit() if outcome.error is not None]
    return records


def _in_order(deliveries: Iterable[Delivery]) -> list[Delivery]:
    """By delivery count; of two with the same one, which `_counts_up` allows, first what was refused.

    A client may hear of a refusal long after somebody else was given the record.
    """
    return sorted(deliveries, key=lambda delivery: (delivery.record.delivery_count, delivery.error is None))


def _counts_up(history: Sequence[Delivery]) -> bool:
    """Whether delivery counts rise by one from 1; behind a refused acknowledgement one may come twice.

    Acquiring is not durable: where the state log was in doubt, the delivery before it is forgotten.
    """
    if history[0].record.delivery_count != 1:
        return False
    return all(
        later.record.delivery_count - earlier.record.delivery_count
        in ({1} if earlier.error is None else {0, 1})
        for earlier, later in pairwise(history)
    )


def _rises(history: Sequence[Delivery]) -> bool:
    """Whether no delivery count is less than the one before, or the same though that one was answered."""
    return all(
        later.record.delivery_count - earlier.record.delivery_count >= (1 if earlier.error is None else 0)
        for earlier, later in pairwise(history)
    )


def _problem_of(
    history: Sequence[Delivery], value: str, *, are_settled: bool, were_killed: bool
) -> str | None:
    if not history:
        return "never delivered"
    if any(delivery.record.value != value for delivery in history):
        return f"its value is not {value!r}"
    if not (_rises(history) if were_killed else _counts_up(history)):
        return "its delivery counts are not 1, 2, …"
    *earlier, last = history
    if last.how not in FINAL_TYPES or (last.error is not None and not are_settled):
        return "its last delivery did not settle it"
    if any(delivery.how in FINAL_TYPES and delivery.error is None for delivery in earlier):
        return "delivered again after it was settled"
    return None


def _written(history: Sequence[Delivery]) -> str:
    return ", ".join(
        f"{delivery.how} at delivery {delivery.record.delivery_count} by member {delivery.member}"
        + (f" ({delivery.error})" if delivery.error else "")
        for delivery in history
    )
