"""Signals that come while a fetch is awake: heard by those who listen, forgotten with each look."""

from kproxy.handlers.live.fetch_signals import HeardAvailability
from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicId
from tests.in_memory.in_memory_availability import InMemoryAvailability
from tests.in_memory.manual_clock import ManualClock

HERE, THERE = (
    SharePartitionKey(GroupId("g"), TopicId(b"topic-id-orders."), partition) for partition in range(2)
)


def an_availability() -> tuple[HeardAvailability, InMemoryAvailability]:
    port = InMemoryAvailability(ManualClock(now_ms=0))
    return HeardAvailability(port), port


def test_a_signal_is_news_to_whoever_listens_and_goes_on_to_the_sleepers() -> None:
    # Given
    availability, port = an_availability()
    here, there = availability.listen([HERE]), availability.listen([THERE])

    # When
    availability.signal(HERE)

    # Then
    assert (here.is_news, there.is_news) == (True, False)
    assert port.signalled == [HERE]


def test_a_look_makes_old_what_was_signalled_before_of_that_share_partition_only() -> None:
    # Given
    availability, _ = an_availability()
    signals = availability.listen([HERE, THERE])
    availability.signal(HERE)
    availability.signal(THERE)

    # When
    signals.look_at(HERE)
    is_news = signals.is_news
    signals.look_at(THERE)

    # Then
    assert (is_news, signals.is_news) == (True, False)


def test_who_listens_no_more_hears_nothing_and_leaves_nothing_behind() -> None:
    # Given
    availability, _ = an_availability()
    gone, still_there = availability.listen([HERE]), availability.listen([HERE])

    # When
    availability.silence(gone, [HERE])
    availability.signal(HERE)
    availability.silence(still_there, [HERE])

    # Then
    assert (gone.is_news, still_there.is_news) == (False, True)
    assert not availability._listeners


def test_news_of_a_slot_reaches_those_who_listen_to_what_belongs_to_it_asleep_or_not() -> None:
    # Given
    availability, port = an_availability()
    here, there = availability.listen([HERE]), availability.listen([THERE])

    # When
    availability.signal_all(lambda key: key == THERE)

    # Then
    assert (here.is_news, there.is_news) == (False, True)
    assert port.signalled == [THERE]


def test_a_look_at_everything_makes_old_whatever_was_signalled() -> None:
    # Given
    availability, _ = an_availability()
    signals = availability.listen([HERE, THERE])
    availability.signal(HERE)

    # When
    signals.look_at_all()

    # Then
    assert not signals.is_news


# ---- calls


def test_a_call_wakes_the_first_sleeper_alone_which_owes_the_next_a_call() -> None:
    # Given
    availability, port = an_availability()
    caller, first, second = (availability.listen([HERE]) for _ in range(3))
    first.is_asleep = second.is_asleep = True
    caller.owe_call(HERE, first, second)

    # When
    availability.call_next(caller, HERE)

    # Then
    assert (caller.is_news, first.is_news, second.is_news) == (False, True, False)
    assert port.signalled == [first.call_key]
    assert (caller.owed_keys, first.owed_keys) == ((), (HERE,))


def test_a_call_does_not_wait_for_a_fetch_that_is_awake_and_may_read_elsewhere_for_long() -> None:
    # Given
    availability, port = an_availability()
    caller, awake, sleeper = (availability.listen([HERE]) for _ in range(3))
    sleeper.is_asleep = True
    caller.owe_call(HERE, awake, sleeper)

    # When
    availability.call_next(caller, HERE)

    # Then
    assert (awake.is_news, sleeper.is_news) == (True, True)
    assert sleeper.call_key in port.signalled


def test_a_fetch_that_is_over_is_not_called_and_calls_whom_it_owes() -> None:
    # Given
    availability, port = an_availability()
    caller, gone, sleeper = (availability.listen([HERE]) for _ in range(3))
    sleeper.is_asleep = True
    caller.owe_call(HERE, gone, sleeper)
    availability.silence(gone, [HERE])

    # When
    availability.silence(caller, [HERE])

    # Then
    assert (gone.is_news, sleeper.is_news) == (False, True)
    assert port.signalled == [sleeper.call_key]
