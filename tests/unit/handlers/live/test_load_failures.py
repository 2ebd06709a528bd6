"""What the state log says while a share-partition is loaded becomes what clients are told of it."""

import pytest

from kproxy.errors import (
    ApiError,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    FencedLeaderEpoch,
    FencedStateEpoch,
    InvalidRequest,
    NotCoordinator,
    SharePartitionElsewhere,
    ShareStateNotReadable,
    ShareStateStillLoading,
    StateLogUnavailable,
)
from kproxy.handlers.live.load_failures import told_to_clients
from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicId

KEY = SharePartitionKey(GroupId("g"), TopicId(b"topic-id-orders."), 3)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (CoordinatorLoadInProgress("replaying"), ShareStateStillLoading),
        (NotCoordinator("gone"), SharePartitionElsewhere),
        (CoordinatorNotAvailable("no topics"), ShareStateNotReadable),
        (StateLogUnavailable("no quorum"), ShareStateNotReadable),
        (FencedLeaderEpoch("behind"), ShareStateStillLoading),
        (FencedStateEpoch("behind"), ShareStateStillLoading),
        (InvalidRequest("no state"), ShareStateStillLoading),
    ],
)
def test_what_the_state_log_says_is_told_as_a_leader_would_and_names_the_share_partition(
    said: ApiError, told: type[ApiError]
) -> None:
    # When
    with pytest.raises(told) as raised, told_to_clients(KEY):
        raise said

    # Then
    assert str(KEY) in str(raised.value)
    assert raised.value.__cause__ is said
