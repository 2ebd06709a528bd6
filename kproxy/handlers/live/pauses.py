"""A turn for everybody else in the middle of work that is long.

There is one line for all such work of clients, one for appends, and one for what is only looked at.
"""

import asyncio
import threading
from collections import OrderedDict
from typing import Final

MOST_AT_ONCE: Final = 500
"""Share-partitions that a request may change before others have a turn: some 20 ms."""

MOST_AT_FIRST: Final = 50
"""Share-partitions that it may change before its first pause, some 2 ms: many requests may begin in the same turn."""

_RUNS_OF_ONE: Final = 16
"""So many runs of offsets that a request changes are as much work as another share-partition."""


def work_on(run_count: int) -> int:
    """Return how much work a share-partition is of which so many runs of offsets are gone through (`Pace`)."""
    return 1 + run_count // _RUNS_OF_ONE


_Places = OrderedDict[asyncio.Future[None], None]


class _Line(threading.local):
    """Who waits to go on with long work, first come first, and how many have gone on. Each event loop has its own."""

    def __init__(self) -> None:
        self.gone_on_count = 0
        self._places: dict[asyncio.AbstractEventLoop, _Places] = {}
        """Of loops with somebody who waits."""

    async def wait(self) -> None:
        """Return in a later turn of the loop than whoever went on before.

        Only the first of the line is resumed: a line of thousands costs a turn no more than a short one.
        """
        loop = asyncio.get_running_loop()
        places, place = self._places_of(loop), loop.create_future()
        places[place] = None
        try:
            if _is_first(place, places):
                await asyncio.sleep(0)
            else:
                await place
            self.gone_on_count += 1
        finally:
            self._leave(place, places)

    def _places_of(self, loop: asyncio.AbstractEventLoop) -> _Places:
        places = self._places.get(loop)
        if places is None:
            for closed in [each for each in self._places if each.is_closed()]:
                del self._places[closed]  # who waited there never goes on
            places = self._places[loop] = OrderedDict()
        return places

    def _leave(self, place: asyncio.Future[None], places: _Places) -> None:
        was_first, loop = _is_first(place, places), place.get_loop()
        del places[place]
        if not places:
            self._places.pop(loop, None)
        elif was_first and not (following := next(iter(places))).done() and not loop.is_closed():
            following.set_result(None)


def _is_first(place: asyncio.Future[None], places: _Places) -> bool:
    return next(iter(places)) is place


_long_work = _Line()
_appends = _Line()
_looks = _Line()


async def let_others_go_on() -> None:
    """Return in the next turn of the event loop, or when all have gone on who waited here before.

    At most one of them, whatever it works on, goes on in one turn of the loop. So long work in pieces, with this
    between them, takes one piece of every turn, and what is short need not wait here and comes in between. Nobody
    waits for more than a piece of each who waited before, and whoever is cancelled leaves the line.
    """
    await _long_work.wait()


async def let_other_appends_go_on() -> None:
    """Do what `let_others_go_on` does, in the line of those who make, or take in, a long append to the state log.

    What is short is in their appends, too, and must not wait for each who has long work. So a turn of the loop has
    at most one piece of theirs beside one of long work.
    """
    await _appends.wait()


async def let_other_looks_go_on() -> None:
    """Do what `let_others_go_on` does, in the line of those who only look at very much.

    They do so for people, for Prometheus, and for topics of groups. However many there are, a turn of the loop has one
    piece of theirs, and no client waits in their line.
    """
    await _looks.wait()


class SharedStart:
    """What is done before the first pause of each (`Pace`) by all together who do the same kind of work.

    Very many may begin in the same turn with little each: `MOST_AT_FIRST` is theirs, and one piece each beyond that,
    until one of them, or of others in the same line, has gone on in another turn. Pieces smaller than `least` count
    for nothing: whoever does only such need not wait for those who do much.
    """

    __slots__ = ("_least", "_left", "_line", "_most", "_seen_count")

    def __init__(self, most: int = MOST_AT_FIRST, *, least: int = 0, line: _Line = _long_work) -> None:
        self._most = self._left = most
        self._least, self._line = least, line
        self._seen_count = 0

    def is_over(self, work: int) -> bool:
        """Count `work`; tell whether there is no more for anybody."""
        if work < self._least:
            return False
        if self._line.gone_on_count != self._seen_count:
            self._left, self._seen_count = self._most, self._line.gone_on_count
        self._left -= work
        return self._left <= 0


def short_appends() -> SharedStart:
    """Return what all writers of a process share who make, or take in, short appends: `MOST_AT_ONCE` in a turn."""
    return SharedStart(MOST_AT_ONCE, line=_appends)


class Pace:
    """Tells whoever goes through very many share-partitions when it is time for a pause: `let_others_go_on`.

    The first one is due soon (`MOST_AT_FIRST`), for others may have begun in the same turn; then one after each
    `MOST_AT_ONCE`. Those who may begin in the same turn by the hundred have a `start` in common; what `is_alone`
    in what it does begins with as much as it goes on with.
    """

    __slots__ = ("_left", "_start")

    def __init__(self, *, start: SharedStart | None = None, is_alone: bool = False) -> None:
        self._start = start
        self._left = MOST_AT_ONCE if is_alone else min(MOST_AT_FIRST, MOST_AT_ONCE)

    def is_pause_due(self, work: int = 1) -> bool:
        """Count `work`, about as much as so many share-partitions; tell whether others should go on now."""
        self._left -= work
        is_over = self._start is not None and self._start.is_over(work)
        if self._left > 0 and not is_over:
            return False
        self._left, self._start = MOST_AT_ONCE, None
        return True
