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
from kproxy.handlers.live.load_failures import KEPT_MS, MOST_KEPT, LoadFailures, told_to_clients
from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicId
from tests.worlds.share_group_world import loaded, world_with_orders

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


def test_the_last_failure_of_a_load_is_told_with_its_age_and_forgotten_after_a_minute() -> None:
    # Given
    failures = LoadFailures()

    # When
    failures.note(KEY, ShareStateNotReadable("no quorum"), 1_000)

    # Then
    assert failures.text(KEY, 1_400) == "it could not be loaded 0.4 s ago: no quorum"
    assert failures.text(KEY, 1_000 + KEPT_MS) == ""


@pytest.mark.parametrize("after", [None, ShareStateStillLoading("its slot is being replayed")])
def test_a_load_that_did_not_fail_ends_what_was_known_of_failures(after: Exception | None) -> None:
    # Given
    failures = LoadFailures()
    failures.note(KEY, ShareStateNotReadable("no quorum"), 1_000)

    # When
    failures.note(KEY, after, 2_000)

    # Then
    assert failures.text(KEY, 2_000) == ""


def test_no_more_failures_are_remembered_than_a_number_and_none_at_length() -> None:
    # Given
    failures = LoadFailures()

    # When
    for number in range(MOST_KEPT + 1):
        failures.note(KEY._replace(partition=number), ShareStateNotReadable("x" * 10_000), 1_000)

    # Then
    assert failures.text(KEY._replace(partition=0), 1_000) == ""
    assert len(failures.text(KEY._replace(partition=1), 1_000)) < 400


async def test_why_a_share_partition_is_not_live_is_known_while_it_is_loaded_and_when_that_failed() -> None:
    # Given
    world = await world_with_orders()
    directory, key = world.groups.directory, world.key()
    world.state_log.refusals[key] = StateLogUnavailable("the slot does not answer")
    said = [directory.why_not_live(key)]

    # When
    await world.member("alice").open(max_records=1)
    said.append(directory.why_not_live(key))
    del world.state_log.refusals[key]
    directory.begin_load(key)
    said.append(directory.why_not_live(key))
    await loaded(directory, key)
    said.append(directory.why_not_live(key))

    # Then
    failed = f"it could not be loaded 0.0 s ago: the state of {key} cannot be read: the slot does not answer"
    assert said == ["", failed, f"it is being loaded; {failed}", ""]
