"""`PlacedIds`: ids, found by the place that each is at."""

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

Id = TypeVar("Id", bound=str)


class PlacedIds(Generic[Id]):
    """Group ids by their place, once somebody says where each is (`arrange`); before that nothing is kept here."""

    __slots__ = ("_of_places", "_place_of")

    def __init__(self) -> None:
        self._place_of: Callable[[str], int] | None = None
        self._of_places: dict[int, dict[Id, None]] = {}

    def arrange(
        self, ids: Iterable[Id], place_of: Callable[[str], int], place_of_new: Callable[[str], int]
    ) -> None:
        """Have these ids, each at its place, and no others. `place_of_new` says where those are that are added."""
        self._place_of, self._of_places = place_of_new, {}
        for each in ids:
            self._of_places.setdefault(place_of(each), {})[each] = None

    def add(self, new_id: Id) -> None:
        """Have one more."""
        if self._place_of is not None:
            self._of_places.setdefault(self._place_of(new_id), {})[new_id] = None

    def add_all(self, ids: Iterable[Id], place: int | None) -> None:
        """Have these as well, which are all at `place`; None: wherever they are."""
        if place is None:
            for each in ids:
                self.add(each)
        elif self._place_of is not None:
            self._of_places.setdefault(place, {}).update(dict.fromkeys(ids))

    def discard(self, gone_id: Id) -> None:
        """Have one no more."""
        if self._place_of is not None and (ids := self._of_places.get(self._place_of(gone_id))):
            ids.pop(gone_id, None)

    def take(self, place: int) -> dict[Id, None]:
        """Return all that are at `place`, and have them no more."""
        return self._of_places.pop(place, {})
