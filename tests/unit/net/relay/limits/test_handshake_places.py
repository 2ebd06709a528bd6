"""Who shakes hands gives way to newcomers when it is silent, or takes too long; and not while it speaks and may."""

from dataclasses import dataclass

from kproxy.net.relay.limits.handshake_places import SILENT_MS, SLOW_MS, STILL_MS, HandshakePlaces


@dataclass(eq=False)
class Handshake:
    """One that is under way; `begun_ms` is `heard_ms` if it does not wait."""

    heard_ms: int | None = None
    begun_ms: int | None = None
    is_waiting: bool = False
    gave_way: bool = False
    is_done: bool = False

    def __post_init__(self) -> None:
        if self.begun_ms is None and not self.is_waiting:
            self.begun_ms = self.heard_ms

    def give_way(self) -> bool:
        """Note it, unless it is done."""
        self.gave_way = not self.is_done
        return self.gave_way


def full_of(*handshakes: Handshake) -> HandshakePlaces:
    places = HandshakePlaces(len(handshakes))
    for each in handshakes:
        places.enter(each, 0)
    return places


def test_nobody_gives_way_as_long_as_there_is_room() -> None:
    silent = Handshake()
    places = HandshakePlaces(2)
    places.enter(silent, 0)

    assert places.has_room(0)

    assert not silent.gave_way


def test_the_oldest_of_the_silent_ones_gives_way() -> None:
    speaking, oldest, youngest = Handshake(heard_ms=SILENT_MS), Handshake(), Handshake()
    places = full_of(speaking, oldest, youngest)

    assert places.has_room(SILENT_MS)

    assert [each.gave_way for each in (speaking, oldest, youngest)] == [False, True, False]
    assert len(places) == 2


def test_nobody_gives_way_before_it_could_speak() -> None:
    newcomer = Handshake()
    places = full_of(newcomer)

    assert not places.has_room(SILENT_MS - 1)

    assert not newcomer.gave_way


def test_those_who_speak_do_not_give_way_before_they_could_be_done() -> None:
    places = full_of(Handshake(heard_ms=0), Handshake(heard_ms=SLOW_MS - 1))

    assert not places.has_room(SLOW_MS - 1)


def test_who_has_begun_and_says_nothing_more_gives_way_when_nobody_is_silent_from_the_first() -> None:
    stuck, silent, speaking = Handshake(heard_ms=0), Handshake(), Handshake(heard_ms=STILL_MS)
    places = full_of(stuck, silent)
    places.enter(speaking, STILL_MS - SILENT_MS)

    assert places.turn_away(STILL_MS)
    assert (stuck.gave_way, silent.gave_way) == (False, True)
    assert places.turn_away(STILL_MS)
    assert stuck.gave_way

    assert not places.turn_away(STILL_MS)
    assert not speaking.gave_way


def test_who_speaks_without_end_gives_way_the_oldest_first_when_nobody_is_silent_or_still() -> None:
    oldest, younger = (Handshake(heard_ms=SLOW_MS, begun_ms=0) for _ in range(2))
    still = Handshake(heard_ms=SLOW_MS - STILL_MS, begun_ms=1)
    speaking = Handshake(heard_ms=SLOW_MS, begun_ms=1)
    places = full_of(oldest, younger, still)
    places.enter(speaking, 0)

    given_way = []
    while places.turn_away(SLOW_MS):
        given_way.append([each.gave_way for each in (speaking, oldest, younger, still)])

    assert given_way == [
        [False, False, False, True],
        [False, True, False, True],
        [False, True, True, True],
    ]


def test_whose_first_word_waits_gives_way_to_nobody_for_that() -> None:
    places = full_of(Handshake(heard_ms=0, is_waiting=True), Handshake(heard_ms=1, is_waiting=True))

    assert not places.has_room(10 * SLOW_MS)


def test_whose_next_word_waits_is_not_still_and_slow_all_the_same() -> None:
    waiting = Handshake(heard_ms=0, begun_ms=1, is_waiting=True)
    places = full_of(waiting)

    assert not places.has_room(SLOW_MS)
    assert places.has_room(SLOW_MS + 1)

    assert waiting.gave_way


def test_who_waited_for_long_has_its_time_from_then_on() -> None:
    places = full_of(Handshake(heard_ms=7 * SLOW_MS, begun_ms=7 * SLOW_MS))

    assert not places.has_room(8 * SLOW_MS - 1)
    assert places.has_room(8 * SLOW_MS)


def test_who_is_done_in_this_very_turn_does_not_give_way_and_has_no_place_any_more() -> None:
    done, silent = Handshake(is_done=True), Handshake()
    places = full_of(done, silent)

    assert places.turn_away(SILENT_MS)

    assert [done.gave_way, silent.gave_way] == [False, True]
    assert len(places) == 0


def test_the_place_of_who_is_done_in_this_very_turn_is_a_newcomers() -> None:
    done = Handshake(is_done=True)
    places = full_of(done)

    assert places.has_room(SILENT_MS)

    assert not done.gave_way


def test_who_has_left_makes_room_and_may_leave_again() -> None:
    done = Handshake(heard_ms=0)
    places = full_of(done)

    places.leave(done)
    places.leave(done)

    assert places.has_room(0)
    assert len(places) == 0
