from tests.in_memory.time_of_pauses import TimeOfPauses


def test_what_is_left_falls_to_nothing() -> None:
    # Given
    time = TimeOfPauses()
    ends = time.deadline(1_500)

    # When
    left = [ends.remaining_s]
    for _ in range(2):
        time.sleep(1.0)
        left.append(ends.remaining_s)

    # Then
    assert left == [1.5, 0.5, 0.0]


def test_pauses_grow_to_a_second_and_end_when_no_time_is_left_for_another_attempt() -> None:
    # Given
    time = TimeOfPauses()
    ends = time.deadline(3_600)

    # When
    goes_on = [ends.pause(attempt_count) for attempt_count in range(1, 8)]

    # Then
    assert [round(pause, 1) for pause in time.pauses] == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    assert goes_on == [True] * 6 + [False]


def test_a_pause_that_would_outlast_the_deadline_is_not_made() -> None:
    # Given
    time = TimeOfPauses()

    # When
    goes_on = time.deadline(100).pause(1)

    # Then
    assert (goes_on, time.pauses) == (False, [])
