"""DescribeShareGroupOffsets: where groups stand, and how much lies before them (conformance case 86)."""

from collections.abc import Mapping, Sequence

from kproxy.error_codes import ErrorCode
from kproxy.errors import CoordinatorLoadInProgress
from kproxy.handlers.administration_bounds import MOST_TOLD_WHY, AdministrationBounds
from kproxy.handlers.live.pauses import MOST_AT_ONCE
from kproxy.handlers.ports import PartitionLeader
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.share.identifiers import TopicIdPartition
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.message_schema import ZERO_UUID
from kproxy.wire.messages.describe_share_group_offsets_request import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kproxy.wire.messages.describe_share_group_offsets_response import DescribeShareGroupOffsetsResponse
from tests.in_memory.unchecked_group_namespace import UncheckedGroupNamespace
from tests.worlds.group_coordinators import coordinate_groups_at
from tests.worlds.share_group_world import ORDERS, PAYMENTS, ShareGroupWorld
from tests.worlds.share_offset_requests import (
    OFFSETS_OF_NOTHING,
    a_group_that_accepted,
    describe_all,
    offsets_of,
)
from tests.worlds.waiting import turns_during


async def test_the_lag_is_what_lies_behind_the_start_offset_and_is_not_done_with() -> None:
    # Given
    world = await a_group_that_accepted(4)
    alice = world.member()
    await alice.heartbeat(0, ["orders"])
    await alice.open(max_records=6)
    await alice.acknowledge({(ORDERS, 0): [(6, 7, [1])]})

    # When
    offsets = await offsets_of(world)

    # Then
    assert offsets == {("orders", 0): (4, 0, 4, ErrorCode.NONE)}


async def test_a_group_of_which_nobody_fetches_is_described_after_a_restart_too() -> None:
    # Given
    world = await a_group_that_accepted(4)
    world.restart()

    # When
    offsets = await offsets_of(world)

    # Then
    assert world.groups.share_partition_count == 0
    assert offsets == {("orders", 0): (4, 0, 6, ErrorCode.NONE)}


async def test_null_topics_are_all_that_are_initialized_and_still_there() -> None:
    # Given
    world = await a_group_that_accepted(4, partition_count=2)
    world.metadata.create_topic("payments", PAYMENTS)
    world.log(PAYMENTS)
    bob = world.member("bob")
    await bob.heartbeat(0, ["payments"])
    await bob.heartbeat(-1)
    world.metadata.create_topic("orders", ORDERS, partition_count=3)
    before = await offsets_of(world)
    world.metadata.delete_topic(PAYMENTS)

    # When
    after = await offsets_of(world)

    # Then
    assert before == {
        ("orders", 0): (4, 0, 6, 0),
        ("orders", 1): OFFSETS_OF_NOTHING,
        ("payments", 0): OFFSETS_OF_NOTHING,
    }
    assert after == {("orders", 0): (4, 0, 6, 0), ("orders", 1): OFFSETS_OF_NOTHING}


async def test_what_is_not_there_is_no_error() -> None:
    # Given
    world = await a_group_that_accepted(4)

    # When
    known, empty, unknown_group, nameless = await describe_all(
        world,
        {"g": {"orders": [0, 7], "unknown": [0, -1]}, "h": {}, "nobody": None, "": None},
    )

    # Then
    orders, unknown = known.topics
    assert (orders.topic_id, unknown.topic_id) == (ORDERS, ZERO_UUID)
    assert [(each.start_offset, each.lag, each.error_code) for each in orders.partitions] == [
        (4, 6, 0),
        (-1, -1, 0),
    ]
    assert [(each.start_offset, each.lag, each.error_code) for each in unknown.partitions] == [
        (-1, -1, 0)
    ] * 2
    assert [
        (group.group_id, group.topics, group.error_code) for group in (empty, unknown_group, nameless)
    ] == [
        ("h", [], 0),
        ("nobody", [], 0),
        ("", [], 0),
    ]


async def test_what_no_topic_and_no_group_can_have_is_an_error_of_the_group() -> None:
    # Given
    world = await a_group_that_accepted(4)

    # When
    groups = await describe_all(world, {"g": {"orders": [0, -1]}, "": {"orders": [0]}, "h": {"orders": [0]}})

    # Then
    assert [(group.error_code, len(group.topics)) for group in groups] == [
        (ErrorCode.UNKNOWN_SERVER_ERROR, 0),
        (ErrorCode.UNKNOWN_SERVER_ERROR, 0),
        (ErrorCode.NONE, 1),
    ]


async def test_a_start_offset_that_was_merely_chosen_is_not_told() -> None:
    """A stock broker chooses again when it loads the share-partition anew, until something was written."""
    # Given
    world = ShareGroupWorld()
    world.configure("share.auto.offset.reset", "earliest")
    world.produce(10)
    alice = world.member()
    await alice.heartbeat(0, ["orders"])
    await alice.open(max_records=10)
    chosen = await offsets_of(world)

    # When
    await alice.acknowledge({(ORDERS, 0): [(4, 4, [1])]})

    # Then
    assert chosen == {("orders", 0): OFFSETS_OF_NOTHING}
    assert await offsets_of(world) == {("orders", 0): (0, 0, 9, 0)}


async def test_an_end_that_nobody_names_is_an_error_of_its_partition() -> None:
    # Given
    world = await a_group_that_accepted(4, partition_count=2)
    world.backlogs.silent.add(TopicIdPartition(ORDERS, 0))

    # When
    offsets = await offsets_of(world)

    # Then
    assert offsets == {
        ("orders", 0): (0, 0, -1, ErrorCode.REQUEST_TIMED_OUT),
        ("orders", 1): OFFSETS_OF_NOTHING,
    }


async def test_a_state_that_cannot_be_read_is_told_as_one_that_is_not_there() -> None:
    # Given
    world = await a_group_that_accepted(4)
    world.state_log.refusals[world.key()] = CoordinatorLoadInProgress("replaying")

    # When
    offsets = await offsets_of(world)

    # Then
    assert offsets == {("orders", 0): OFFSETS_OF_NOTHING}
    assert world.observer.reasons == ["coordinator_load_in_progress"]


async def test_the_leader_epoch_is_that_of_kafkas_leader_once_it_has_loaded_the_state() -> None:
    # Given
    world = await a_group_that_accepted(4, partition_count=2)
    for partition in range(2):
        world.metadata.move_leader(ORDERS, partition, PartitionLeader(1, 9))

    # When
    offsets = await offsets_of(world)

    # Then
    assert offsets == {("orders", 0): (4, 9, 6, 0), ("orders", 1): OFFSETS_OF_NOTHING}


async def test_each_group_is_answered_in_its_place_and_no_log_is_asked_for_twice() -> None:
    # Given
    world = await a_group_that_accepted(4)
    await world.initialize("h", start_offset=7)

    # When
    groups = await describe_all(world, {"h": {"orders": [0]}, "g": None, "i": {"orders": [0]}})

    # Then
    told = [(group.group_id, group.topics[0].partitions[0].lag) for group in groups]
    assert told == [("h", 3), ("g", 6), ("i", -1)]
    assert [question.partition for question in world.backlogs.asked] == [0]


async def test_all_of_a_group_is_told_by_its_coordinator_only() -> None:
    # Given
    world = await a_group_that_accepted(4)
    coordinate_groups_at(world, 2)

    # When
    everything, named = await describe_all(world, {"g": None, "h": {"orders": [0]}}, node_id=1)

    # Then
    assert (everything.error_code, everything.topics) == (ErrorCode.NOT_COORDINATOR, [])
    assert named.error_code == ErrorCode.NONE
    assert world.observer.reasons == ["not_coordinator"]


async def test_a_group_that_is_being_restored_is_told_so_and_others_are_described() -> None:
    # Given
    world = await a_group_that_accepted(4)
    world.group_log.unreadiness = CoordinatorLoadInProgress("replaying")

    # When
    loading, named = await describe_all(world, {"g": None, "h": {"orders": [0]}})

    # Then
    assert loading.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert named.error_code == ErrorCode.NONE


async def test_while_the_cluster_cannot_be_asked_groups_are_told_to_ask_again() -> None:
    # Given
    world = await a_group_that_accepted(4)
    world.metadata.is_unavailable = True

    # When
    groups = await describe_all(world, {"g": {"orders": [0]}, "h": {}})

    # Then
    assert [group.error_code for group in groups] == [ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NONE]


async def test_an_answer_gives_others_a_turn_and_too_large_a_request_is_refused() -> None:
    # Given
    world = await a_group_that_accepted(4)

    # When
    [many] = await describe_all(world, {"g": {"orders": [0] * 1_200}})
    [too_many] = await describe_all(world, {"g": {"orders": [0] * AdministrationBounds().most_named}})

    # Then
    assert len(many.topics[0].partitions) == 1_200
    assert (too_many.error_code, too_many.topics) == (ErrorCode.INVALID_REQUEST, [])
    assert too_many.error_message is not None
    assert "10000 at most" in too_many.error_message


async def test_the_words_of_a_refusal_are_told_to_the_first_of_very_many_groups() -> None:
    # Given
    names = [f"g{number}" for number in range(AdministrationBounds().most_named + 1)]

    # When
    answers = await describe_all(ShareGroupWorld(), dict.fromkeys(names))

    # Then
    assert {answer.error_code for answer in answers} == {ErrorCode.INVALID_REQUEST}
    assert [answer.error_message is None for answer in answers].count(False) == MOST_TOLD_WHY


async def test_an_answer_ends_where_it_would_take_too_much_memory() -> None:
    """A request of some kilobytes may name a large group again and again."""
    # Given
    limits = ShareGroupLimits(administration=AdministrationBounds(most_told=4))
    world = await a_group_that_accepted(4, partition_count=2, world=ShareGroupWorld(limits=limits))
    asked = [DescribeShareGroupOffsetsRequestGroup("g", None)] * 4

    # When
    answer = await world.serve(
        DescribeShareGroupOffsetsRequest(groups=asked), ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 1
    )

    # Then
    assert isinstance(answer, DescribeShareGroupOffsetsResponse)
    assert [(group.error_code, len(group.topics)) for group in answer.groups] == [
        (ErrorCode.NONE, 1),
        (ErrorCode.NONE, 1),
        (ErrorCode.INVALID_REQUEST, 0),
        (ErrorCode.INVALID_REQUEST, 0),
    ]
    assert answer.groups[2].error_message == (
        "an answer with more than 4 entries (kproxy.share.admin.response.max.entries): ask for fewer groups"
    )
    assert world.observer.reasons == ["invalid_request"]


async def test_the_cluster_is_asked_once_for_all_groups() -> None:
    # Given
    class Counting(UncheckedGroupNamespace):
        questions: list[Sequence[str]]

        async def coordinators_of(self, group_ids: Sequence[str]) -> Mapping[str, int]:
            self.questions.append(group_ids)
            return dict.fromkeys(group_ids, 1)

    world = await a_group_that_accepted(4)
    coordinate_groups_at(world, 2)
    namespace = Counting()
    namespace.questions = []
    world.groups = world.new_process(namespace)
    world.restore_groups()
    world.metadata.asked_names.clear()

    # When
    groups = await describe_all(
        world, {"g": None, "": None, "x" * 40_000: None, "h": None, "i": {"orders": [0], "payments": [0]}}
    )

    # Then
    assert [group.error_code for group in groups] == [0, 0, ErrorCode.INVALID_REQUEST, 0, 0]
    assert namespace.questions == [("g", "h")]
    assert sorted(world.metadata.asked_names) == ["orders", "payments"]


async def test_others_have_turns_while_very_many_partitions_are_described() -> None:
    # Given
    world = await a_group_that_accepted(4, partition_count=10 * MOST_AT_ONCE)

    # When
    turn_count = await turns_during(offsets_of(world))

    # Then
    assert turn_count > 20
