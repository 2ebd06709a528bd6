"""Which batches of a read_committed Fetch belong to aborted transactions."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from kproxy.handlers.fetching.aborted_batches import aborted_extents
from kproxy.wire.messages.fetch_response import AbortedTransaction
from kproxy.wire.record_batches import HEADER_BYTES, batch_extents
from tests.in_memory.record_batch_bytes import record_batch, transaction_marker, transactional_batch

ANNA, BERT = 4, 7


def aborted_offsets(batches: list[bytes], *aborted: tuple[int, int]) -> list[tuple[int, int]]:
    """First and last offsets of the aborted ones among `batches`."""
    records = memoryview(b"".join(batches))
    transactions = [AbortedTransaction(producer_id, first_offset) for producer_id, first_offset in aborted]
    found = aborted_extents(records, batch_extents(records), transactions)
    return [(extent.first_offset, extent.last_offset) for extent in found]


def data(first_offset: int, producer_id: int, count: int = 2) -> bytes:
    """A batch of `count` records of a transaction."""
    return transactional_batch(first_offset, [b"x"] * count, producer_id=producer_id)


def abort(offset: int, producer_id: int) -> bytes:
    """The marker that aborts."""
    return transaction_marker(offset, producer_id=producer_id, is_commit=False)


def commit(offset: int, producer_id: int) -> bytes:
    """The marker that commits."""
    return transaction_marker(offset, producer_id=producer_id, is_commit=True)


def test_batches_of_an_aborted_transaction_are_found_and_its_marker_is_not() -> None:
    assert aborted_offsets([data(0, ANNA), data(2, ANNA), abort(4, ANNA)], (ANNA, 0)) == [(0, 1), (2, 3)]


def test_nothing_is_aborted_where_the_broker_names_no_transaction() -> None:
    assert aborted_offsets([data(0, ANNA), commit(2, ANNA)]) == []


def test_the_transaction_after_an_aborted_one_of_the_same_producer_counts() -> None:
    batches = [data(0, ANNA), abort(2, ANNA), data(3, ANNA), commit(5, ANNA)]
    assert aborted_offsets(batches, (ANNA, 0)) == [(0, 1)]


def test_the_transaction_before_an_aborted_one_of_the_same_producer_counts() -> None:
    batches = [data(0, ANNA), commit(2, ANNA), data(3, ANNA), abort(5, ANNA)]
    assert aborted_offsets(batches, (ANNA, 3)) == [(3, 4)]


def test_transactions_that_are_interleaved_are_told_apart() -> None:
    batches = [data(0, ANNA), data(2, BERT), data(4, ANNA), commit(6, BERT), abort(7, ANNA), data(8, BERT)]
    assert aborted_offsets(batches, (ANNA, 0)) == [(0, 1), (4, 5)]


def test_the_order_in_which_the_broker_names_transactions_does_not_matter() -> None:
    batches = [data(0, ANNA), data(2, BERT), abort(4, ANNA), abort(5, BERT), data(6, ANNA), abort(8, ANNA)]
    assert aborted_offsets(batches, (ANNA, 6), (BERT, 2), (ANNA, 0)) == [(0, 1), (2, 3), (6, 7)]


def test_a_transaction_that_began_below_the_first_batch_is_aborted_all_the_same() -> None:
    assert aborted_offsets([data(20, ANNA), abort(22, ANNA), data(23, ANNA)], (ANNA, 3)) == [(20, 21)]


def test_a_transaction_without_its_marker_in_sight_is_aborted_to_the_end() -> None:
    assert aborted_offsets([data(0, ANNA), data(2, BERT), data(4, ANNA)], (ANNA, 0)) == [(0, 1), (4, 5)]


def test_records_outside_of_transactions_are_never_aborted() -> None:
    plain = record_batch(2, [b"x", b"x"])
    idempotent = record_batch(4, [b"x", b"x"], producer_id=ANNA)
    batches = [data(0, ANNA), plain, idempotent, abort(6, ANNA)]
    assert aborted_offsets(batches, (ANNA, 0)) == [(0, 1)]


def test_a_marker_that_was_compacted_away_ends_nothing() -> None:
    empty_marker = record_batch(2, [], last_offset=2, attributes=0x30, producer_id=ANNA)
    assert len(empty_marker) == HEADER_BYTES
    assert aborted_offsets([data(0, ANNA), empty_marker, data(3, ANNA)], (ANNA, 0)) == [(0, 1), (3, 4)]


def test_a_marker_with_a_key_that_is_too_short_ends_nothing() -> None:
    odd_marker = record_batch(2, [b""], attributes=0x30, producer_id=ANNA)
    assert aborted_offsets([data(0, ANNA), odd_marker, data(3, ANNA)], (ANNA, 0)) == [(0, 1), (3, 4)]


@dataclass(frozen=True)
class _Step:
    """A producer writes so many records, or ends its transaction."""

    producer_id: int
    count: int
    is_commit: bool


STEPS = st.lists(
    st.builds(_Step, st.integers(1, 3), st.integers(0, 3), st.booleans()), min_size=1, max_size=25
)


@given(steps=STEPS, read_from=st.integers(0, 30))
def test_exactly_what_was_written_in_transactions_that_were_aborted_is_found(
    steps: list[_Step], read_from: int
) -> None:
    """A log is written transaction by transaction, and read from some batch on, with the index that a broker keeps."""
    offset, batches = 0, list[tuple[int, bytes]]()
    open_from: dict[int, int] = {}
    written: dict[int, list[tuple[int, int]]] = {}
    index: list[tuple[int, int, int]] = []
    expected: list[tuple[int, int]] = []
    for step in steps:
        producer_id = step.producer_id
        if step.count:
            batches.append((offset, data(offset, producer_id, step.count)))
            open_from.setdefault(producer_id, offset)
            written.setdefault(producer_id, []).append((offset, offset + step.count - 1))
            offset += step.count
            continue
        first_offset = open_from.pop(producer_id, None)
        if first_offset is None:
            continue
        batches.append((offset, (commit if step.is_commit else abort)(offset, producer_id)))
        in_transaction = written.pop(producer_id)
        if not step.is_commit:
            index.append((producer_id, first_offset, offset))
            expected += in_transaction
        offset += 1
    last_stable_offset = min(open_from.values(), default=offset)
    sent = [(first, batch) for first, batch in batches if read_from <= first < last_stable_offset]
    if not sent:
        return
    named = [(producer_id, first) for producer_id, first, last in index if last >= sent[0][0]]
    found = aborted_offsets([batch for _, batch in sent], *named)
    assert found == sorted(run for run in expected if sent[0][0] <= run[0] < last_stable_offset)
