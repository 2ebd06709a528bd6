from hypothesis import given

from kproxy.jobs.folds.fold_rows import FOLD_ARROW_SCHEMA, Counts, batch_of_rows, image_of_rows, rows_of_fold
from kproxy.statelog.state_log_fold import StateLogFold
from tests.worlds.histories import History, histories


@given(history=histories())
def test_all_that_a_fold_knows_goes_into_rows_and_comes_back(history: History) -> None:
    # Given
    fold = StateLogFold()
    for record in history.records:
        fold.apply(record)

    # When
    image = image_of_rows(batch_of_rows(rows_of_fold(3, fold, Counts())).to_pylist())

    # Then
    assert image == fold.image()


def test_every_row_names_the_columns_of_the_schema_and_no_other() -> None:
    # When
    rows = rows_of_fold(3, StateLogFold(), Counts(1, 2, 3))

    # Then
    assert all(set(row) <= set(FOLD_ARROW_SCHEMA.names) for row in rows)
