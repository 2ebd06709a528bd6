from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given

from kproxy.jobs.folds.carried_folds import CarriedFolds
from kproxy.statelog.state_log_fold import StateLogFold
from tests.worlds.histories import KEYS, History, histories


def folded(history: History) -> StateLogFold:
    fold = StateLogFold()
    for record in history.records:
        fold.apply(record)
    return fold


def a_fold() -> StateLogFold:
    history = History()
    history.snapshot(KEYS[0])
    return folded(history)


@given(history=histories())
def test_a_fold_comes_back_as_it_was(history: History) -> None:
    # Given
    with TemporaryDirectory() as folder:
        carried = CarriedFolds(folder)
        fold = folded(history)

        # When
        carried.write(3, 7, fold)

        # Then
        assert carried.before(4, 7) == fold.image()


def test_a_micro_batch_that_runs_again_goes_on_from_the_one_before(tmp_path: Path) -> None:
    # Given
    carried, earlier, later = CarriedFolds(tmp_path.as_uri()), a_fold(), StateLogFold()
    carried.write(3, 0, earlier)
    carried.write(4, 0, later)

    # When
    image = carried.before(4, 0)

    # Then
    assert image == earlier.image()


def test_the_first_micro_batch_has_nothing_before_it(tmp_path: Path) -> None:
    # Given
    carried = CarriedFolds(str(tmp_path))

    # When
    images = [carried.before(0, 0), carried.before(9, 1)]

    # Then
    assert images == [None, None]


def test_only_what_may_be_needed_is_kept(tmp_path: Path) -> None:
    # Given
    carried = CarriedFolds(str(tmp_path))

    # When
    for batch in range(5):
        carried.write(batch, 0, a_fold())

    # Then
    assert sorted(path.name[-7:] for path in tmp_path.rglob("*.arrow")) == ["3.arrow", "4.arrow"]
