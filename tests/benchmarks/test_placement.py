import pytest

from tests.benchmarks.placement import Cores, TooFewCores, pinned_cores, shared_cores


def test_relays_get_the_last_core_alone_and_everybody_else_the_first() -> None:
    assert pinned_cores({0, 1, 2, 3}) == Cores(relays=frozenset({3}), others=frozenset({0}))
    assert pinned_cores({0, 1, 2, 3}).is_pinned


def test_one_core_cannot_be_shared_out() -> None:
    with pytest.raises(TooFewCores, match="two processor cores"):
        pinned_cores({5})


def test_shared_cores_are_everybodys() -> None:
    assert shared_cores({0, 1}) == Cores(frozenset({0, 1}), frozenset({0, 1}))
    assert not shared_cores({0, 1}).is_pinned
