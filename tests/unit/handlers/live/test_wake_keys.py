"""What one fetch alone sleeps on."""

from kproxy.handlers.live.wake_keys import wake_key
from kproxy.share.identifiers import SharePartitionKey


def test_no_two_sleepers_have_one_key() -> None:
    # When
    keys = [wake_key() for _ in range(1_000)]

    # Then
    awaited = set(keys)
    assert len(awaited) == 1_000
    assert all(key in awaited for key in keys)


def test_no_share_partition_that_a_client_can_name_has_the_key_of_a_sleeper() -> None:
    """Clients choose group ids, topic ids and partitions: an empty id and negative numbers too."""
    # Given
    keys = [wake_key() for _ in range(1_000)]

    # When
    named = [SharePartitionKey(*key) for key in keys]

    # Then
    assert not set(named) & set(keys)
    assert all(name != key and key != name for name, key in zip(named, keys, strict=True))
