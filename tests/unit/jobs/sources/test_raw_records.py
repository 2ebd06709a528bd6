from hypothesis import given
from hypothesis import strategies as st

from kproxy.jobs.sources.raw_records import RAW_ARROW_SCHEMA, RAW_SCHEMA, batch_of, records_of
from kproxy.wire.records import Record

NUMBERS = st.integers(0, 2**40)
BYTES = st.none() | st.binary(max_size=8)
RECORDS = st.builds(
    Record,
    BYTES,
    BYTES,
    st.lists(st.tuples(st.text(max_size=5), BYTES), max_size=3).map(tuple),
    NUMBERS,
    NUMBERS,
)


@given(partition=st.integers(0, 1000), records=st.lists(RECORDS, max_size=8))
def test_records_go_into_rows_and_come_back(partition: int, records: list[Record]) -> None:
    # When
    back = list(records_of(batch_of(partition, records)))

    # Then
    assert back == [(partition, record) for record in records]


def test_both_schemas_name_the_same_columns() -> None:
    # When
    names = RAW_SCHEMA.fieldNames()

    # Then
    assert names == RAW_ARROW_SCHEMA.names
