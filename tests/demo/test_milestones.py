from tests.demo.milestones import milestones
from tests.demo.outage import THE_ONLY_ONE, Outage, OutageKind


def an_outage(kproxy: str, kind: OutageKind = OutageKind.KILL) -> Outage:
    """It began at 20 s with two records in hand."""
    return Outage(kproxy, kind, 20.0, {0, 1}, frozenset(), frozenset())


def texts(outage: Outage) -> list[str]:
    return [f"{milestone.text} {milestone.seconds:.1f}" for milestone in milestones(outage, started=0.0)]


def test_of_the_only_kproxy_it_is_told_that_it_was_killed_and_when_it_was_there_again() -> None:
    # Given
    outage = an_outage(THE_ONLY_ONE)
    outage.back_at, outage.first_accepted_at = 21.0, 22.5

    # When
    told = texts(outage)

    # Then
    assert told == [
        "kproxy killed (SIGKILL) with 2 records in hand, since the start 20.0",
        "first record accepted again, since the kill 2.5",
    ]


def test_how_many_records_a_dead_kproxy_had_sent_is_told_when_that_is_known() -> None:
    assert texts(an_outage(THE_ONLY_ONE)) == []
    assert texts(an_outage("kproxy 2")) == []


def test_of_several_it_is_told_who_took_over_and_that_the_killed_one_is_back() -> None:
    # Given
    outage = an_outage("kproxy 2")
    outage.first_position_after = 2
    outage.successor, outage.first_accepted_at = "kproxy 3", 26.4
    outage.started_again_at, outage.back_at = 27.5, 30.0

    # When
    told = texts(outage)

    # Then
    assert told == [
        "kproxy 2 killed (SIGKILL), 2 records in hand, since the start 20.0",
        "kproxy 3 took over: first record accepted, since the kill 6.4",
        "kproxy 2 started again, and has its share of the slots after 2.5",
    ]


def test_of_a_restart_it_is_told_how_long_nobody_accepted_anything() -> None:
    # Given
    outage = an_outage("kproxy 3", OutageKind.RESTART)
    outage.first_position_after = 2
    outage.successor, outage.longest_pause_seconds = "kproxy 1", 0.6
    outage.started_again_at, outage.back_at = 21.5, 24.5

    # When
    told = texts(outage)

    # Then
    assert told == [
        "kproxy 3 restarted as an update would: SIGTERM, and it ended in 1.5",
        "kproxy 1 took over: longest pause between two accepted records 0.6",
        "kproxy 3 started again, and has its share of the slots after 3.0",
    ]
