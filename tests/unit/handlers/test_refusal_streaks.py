"""How often a connection was refused in a row, by API."""

from kproxy.handlers.refusal_streaks import RefusalStreaks

FETCH, HEARTBEAT = 78, 76


def test_refusals_are_counted_by_api_until_one_request_is_served() -> None:
    # Given
    streaks = RefusalStreaks()
    for _ in range(3):
        streaks.refused(FETCH)
    streaks.refused(HEARTBEAT)
    before = streaks.length(FETCH)

    # When
    streaks.answered(FETCH)

    # Then
    assert (before, streaks.length(FETCH), streaks.length(HEARTBEAT)) == (3, 0, 1)


def test_whoever_was_never_refused_has_no_streak() -> None:
    # Given
    streaks = RefusalStreaks()

    # When
    streaks.answered(FETCH)

    # Then
    assert streaks.length(FETCH) == 0
