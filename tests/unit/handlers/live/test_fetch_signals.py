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
