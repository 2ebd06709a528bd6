"""What every request about offsets is checked for."""

import pytest

from kproxy.errors import ImpossiblePartition
from kproxy.handlers.apis.share_offset_requests import require_possible


@pytest.mark.parametrize(
    ("group_id", "partitions", "told"),
    [("", (), "a group whose id is empty"), ("g", (0, -1), "partition -1 of 'orders'")],
)
def test_what_no_group_and_no_topic_can_have_is_refused_with_the_reason(
    group_id: str, partitions: tuple[int, ...], told: str
) -> None:
    with pytest.raises(ImpossiblePartition, match=told):
        require_possible(group_id, "orders", partitions)


def test_partitions_beyond_the_last_are_possible() -> None:
    require_possible("g", "orders", (0, 2**31 - 1))
