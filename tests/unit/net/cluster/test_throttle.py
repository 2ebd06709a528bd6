"""How long a broker reads nothing."""

from kproxy.net.cluster.throttle import LONGEST_THROTTLE_MS, Throttle


async def test_a_broker_reads_until_it_says_that_it_does_not() -> None:
    assert Throttle().remaining_ms == 0


async def test_the_throttle_time_that_ends_last_counts_up_to_a_bound() -> None:
    # Given
    throttle = Throttle()
    throttle.begin(2**31 - 1)

    # When
    throttle.begin(1)

    # Then
    assert LONGEST_THROTTLE_MS - 10_000 < throttle.remaining_ms <= LONGEST_THROTTLE_MS
