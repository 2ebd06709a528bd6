"""The fold and the bytes of the log: what is corrupt stops it or is skipped."""

from dataclasses import replace

import pytest

from kproxy.errors import CorruptStateRecord, UnsupportedStateRecord
from kproxy.statelog.claims import CLAIM_HEADER, Claim
from kproxy.statelog.state_log_fold import Outcome, StateLogFold
from kproxy.statelog.state_records import StateRecord, encode_state_record
from kproxy.wire.records import Record
from tests.worlds.state_log_builders import (
    ACKNOWLEDGED,
    ALICE,
    KEY,
    a_batch,
    a_claim,
    a_fold_of,
    a_snapshot,
    a_state,
    an_update,
)


def a_log_record(
    record: StateRecord, *, offset: int, claim_epoch: int | None, timestamp_ms: int = 1000
) -> Record:
    encoded = encode_state_record(record, claim_epoch=claim_epoch, actors=(ALICE,))
    return replace(encoded, offset=offset, timestamp_ms=timestamp_ms)


def test_a_log_record_is_decoded_and_taken_in() -> None:
    # Given
    fold = StateLogFold()
    fold.apply(a_log_record(a_claim(), offset=3, claim_epoch=None))
    fold.apply(a_log_record(a_snapshot(), offset=4, claim_epoch=3))

    # When
    outcome = fold.apply(
        a_log_record(an_update(KEY, a_batch(5, 9, ACKNOWLEDGED)), offset=7, claim_epoch=3, timestamp_ms=2000)
    )

    # Then
    assert outcome is Outcome.APPLIED
    assert dict(fold.states) == {KEY: a_state(0, 0, a_batch(5, 9))}
    assert fold.places[KEY].written_ms == 2000
    assert (fold.claim_epoch, fold.applied_offset) == (3, 7)


CORRUPT = [
    Record(b"\x00", b"\x00", offset=9),
    Record(None, None, offset=9),
    Record(b"\x00", b"\x00", ((CLAIM_HEADER, b"abc"),), offset=9),
    a_log_record(an_update(snapshot_epoch=8), offset=9, claim_epoch=None),
]


@pytest.mark.parametrize("record", CORRUPT)
def test_a_corrupt_record_stops_the_fold_and_is_named(record: Record) -> None:
    # Given
    fold = a_fold_of(a_snapshot())
    before = dict(fold.states)

    # When
    with pytest.raises(CorruptStateRecord, match="offset 9: ") as corrupt:
        fold.apply(record)

    # Then
    assert corrupt.value.offset == 9
    assert dict(fold.states) == before


@pytest.mark.parametrize("record", CORRUPT)
def test_a_corrupt_record_is_skipped_if_the_operator_says_so(record: Record) -> None:
    # Given
    fold = StateLogFold(on_corrupt="skip")
    fold.replay(a_snapshot(), claim_epoch=None, offset=0, timestamp_ms=0)

    # When
    outcome = fold.apply(record)

    # Then
    assert outcome is Outcome.SKIPPED_CORRUPT
    assert dict(fold.states) == {KEY: a_state()}
    assert fold.applied_offset == 9


def test_a_newer_format_is_refused_even_then() -> None:
    # Given
    fold = StateLogFold(on_corrupt="skip")
    record = a_log_record(Claim("a later kproxy", 3), offset=9, claim_epoch=None)

    # When
    with pytest.raises(UnsupportedStateRecord, match="format 3") as unsupported:
        fold.apply(record)

    # Then
    assert unsupported.value.offset == 9
