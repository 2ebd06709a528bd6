from kproxy.handlers.live.wake_keys import wake_key


def test_no_two_sleepers_have_one_key_and_no_share_partition_has_it() -> None:
    # When
    keys = [wake_key() for _ in range(1_000)]

    # Then
    assert len(set(keys)) == 1_000
    assert all(key.partition < 0 for key in keys)
