import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kproxy.jobs.folds.claim_columns import claim_epochs
from kproxy.jobs.sources.raw_records import batch_of
from kproxy.statelog.actors import ACTOR_HEADER
from kproxy.statelog.claims import CLAIM_HEADER, claim_epoch_of, claim_header
from kproxy.wire.records import Record

EPOCHS = st.integers(0, 2**63 - 1)
PLAIN = st.one_of(
    st.just(()),
    EPOCHS.map(lambda epoch: (claim_header(epoch),)),
    EPOCHS.map(lambda epoch: ((ACTOR_HEADER, b"{}"), claim_header(epoch), ("other", None))),
)
ODD = st.sampled_from(
    (
        ((CLAIM_HEADER, None),),
        ((CLAIM_HEADER, b"1234567"),),
        (claim_header(1), claim_header(1)),
        ((CLAIM_HEADER, b"\xff" * 8),),
        ((CLAIM_HEADER, b"1234567"), (CLAIM_HEADER, b"123456789")),
    )
)


def headers_of(records: list[Record]) -> pa.ListArray:
    return batch_of(0, records).column("headers")


@given(headers=st.lists(PLAIN, max_size=20))
def test_the_epochs_of_a_batch_are_those_of_its_records(
    headers: list[tuple[tuple[str, bytes | None], ...]],
) -> None:
    # Given
    records = [Record(None, None, each, offset=offset) for offset, each in enumerate(headers)]

    # When
    epochs = claim_epochs(headers_of(records))

    # Then
    assert epochs == [claim_epoch_of(each) for each in headers]


@given(headers=st.lists(PLAIN, max_size=5), odd=ODD, data=st.data())
def test_an_odd_claim_sends_the_whole_batch_to_be_looked_at(
    headers: list[tuple[tuple[str, bytes | None], ...]],
    odd: tuple[tuple[str, bytes | None], ...],
    data: st.DataObject,
) -> None:
    # Given
    place = data.draw(st.integers(0, len(headers)))
    records = [Record(None, None, each) for each in (*headers[:place], odd, *headers[place:])]

    # When
    epochs = claim_epochs(headers_of(records))

    # Then
    assert epochs is None


def test_rows_without_headers_name_no_claim() -> None:
    # Given
    nulls = pa.array([None, []], headers_of([]).type)

    # When
    epochs = claim_epochs(nulls)

    # Then
    assert epochs == [None, None]
