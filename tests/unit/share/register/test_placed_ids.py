"""Ids are found by their places."""

from kproxy.share.register.placed_ids import PlacedIds


def place_of(text: str) -> int:
    return len(text)


def test_nothing_is_kept_before_somebody_says_where_each_is() -> None:
    placed: PlacedIds[str] = PlacedIds()

    placed.add("a")
    placed.add_all(["b"], 1)
    placed.discard("a")

    assert list(placed.take(1)) == []


def test_all_of_a_place_are_taken_at_once_and_no_others() -> None:
    # Given
    placed: PlacedIds[str] = PlacedIds()
    placed.arrange(["a", "bb"], place_of, place_of)
    placed.add("c")
    placed.add("dd")
    placed.add_all(["e", "f"], 1)
    placed.add_all(["gg"], None)
    placed.discard("c")
    placed.discard("never there, at a place of its own")

    # When
    taken = list(placed.take(1))

    # Then
    assert taken == ["a", "e", "f"]
    assert list(placed.take(1)) == []
    assert list(placed.take(2)) == ["bb", "dd", "gg"]


def test_they_are_arranged_anew_when_there_are_other_places() -> None:
    # Given
    placed: PlacedIds[str] = PlacedIds()
    placed.arrange(["a", "bb"], place_of, place_of)

    # When
    placed.arrange(["a", "bb"], lambda _: 0, lambda _: 0)

    # Then
    assert list(placed.take(1)) == []
    assert list(placed.take(0)) == ["a", "bb"]
