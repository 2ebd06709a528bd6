"""Few combinations, and every few choices meet in one of them."""

import itertools
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.real_kafka.combinations import Choice, Combination, combinations_in_which_all_meet


def brought_together(combinations: Sequence[Combination], together: int) -> set[object]:
    return {
        frozenset(met)
        for combination in combinations
        for met in itertools.combinations(combination.items(), together)
    }


@given(
    st.dictionaries(
        st.sampled_from("abcd"), st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True), min_size=3
    ),
    st.integers(1, 3),
)
def test_whatever_can_meet_meets(dimensions: Mapping[str, Sequence[Choice]], together: int) -> None:
    def is_possible(combination: Combination) -> bool:
        return len(set(combination.values())) > 1

    # When
    chosen = combinations_in_which_all_meet(dimensions, together=together, is_possible=is_possible)

    # Then
    everything = [
        dict(zip(dimensions, choices, strict=True)) for choices in itertools.product(*dimensions.values())
    ]
    possible = [combination for combination in everything if is_possible(combination)]
    assert all(map(is_possible, chosen))
    assert brought_together(chosen, together) == brought_together(possible, together)


@pytest.mark.parametrize(("together", "most"), [(2, 20), (3, 75)])
def test_few_are_enough(together: int, most: int) -> None:
    # When
    chosen = combinations_in_which_all_meet(dict.fromkeys("abcdef", range(3)), together=together)

    # Then: of 729
    assert len(chosen) <= most
