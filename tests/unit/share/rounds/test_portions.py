"""Long work in portions."""

from kproxy.share.rounds.portions import Portions, WorkUnderWay, slices_of, whole


def count_to(end: int) -> Portions[str]:
    for _ in range(end):
        yield 2
    return "done"


def note(done: list[int], count: int) -> Portions[None]:
    for number in range(count):
        done.append(number)
        yield 10


def test_whole_work_returns_what_comes_of_it() -> None:
    assert whole(count_to(3)) == "done"


def test_as_much_is_done_as_is_asked_for_and_no_portion_more() -> None:
    # Given
    done: list[int] = []
    work = WorkUnderWay(note(done, 3))

    # When
    counts = [work.go_on(15), work.go_on(1), work.go_on(1), work.go_on(1)]

    # Then
    assert (counts, done, work.is_over) == ([20, 10, 0, 0], [0, 1, 2], True)


def test_what_is_long_is_cut_into_slices_that_together_are_all_of_it() -> None:
    # When
    slices = list(slices_of(range(2_500)))

    # Then
    assert [len(each) for each in slices] == [1_000, 1_000, 500]
    assert [number for each in slices for number in each] == list(range(2_500))
