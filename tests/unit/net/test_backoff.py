from kproxy.net.backoff import Backoff
from tests.in_memory.manual_clock import ManualClock


def pauses_ms(backoff: Backoff, failure_count: int) -> list[int]:
    pauses = []
    for _ in range(failure_count):
        backoff.failed()
        pauses.append(backoff.remaining_ms)
    return pauses


def test_there_is_no_pause_before_the_first_failure() -> None:
    assert Backoff(ManualClock(5)).remaining_ms == 0


def test_pauses_double_up_to_the_cap_and_stay_there_however_long_the_row_of_failures() -> None:
    # Given
    backoff = Backoff(ManualClock(), first_ms=50, last_ms=1000, random_fraction=lambda: 0.5)

    # When
    pauses = pauses_ms(backoff, 10_000)

    # Then
    assert pauses[:5] == [50, 100, 200, 400, 800]
    assert set(pauses[5:]) == {1000}


def test_pauses_are_jittered_by_a_fifth_either_way() -> None:
    assert pauses_ms(Backoff(ManualClock(), random_fraction=lambda: 0.0), 1) == [40]
    assert pauses_ms(Backoff(ManualClock(), random_fraction=lambda: 1.0), 1) == [60]


def test_a_pause_runs_out_with_the_clock() -> None:
    # Given
    clock = ManualClock()
    backoff = Backoff(clock, random_fraction=lambda: 0.5)
    backoff.failed()

    # When
    clock.advance(30)

    # Then
    assert backoff.remaining_ms == 20
    clock.advance(30)
    assert backoff.remaining_ms == 0


def test_a_success_ends_the_pause_and_begins_anew() -> None:
    # Given
    backoff = Backoff(ManualClock(), random_fraction=lambda: 0.5)
    pauses_ms(backoff, 5)

    # When
    backoff.succeeded()

    # Then
    assert backoff.remaining_ms == 0
    assert pauses_ms(backoff, 1) == [50]
