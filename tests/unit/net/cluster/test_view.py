import time
from collections import OrderedDict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.handlers.ports import PartitionLeader, TopicDescription
from kproxy.net.cluster.view import GONE_TTL_MS, MOST_LEFT, MOST_MISSING, ClusterBroker
from kproxy.share.identifiers import TopicId
from kproxy.wire.messages.metadata_response import MetadataResponsePartition, MetadataResponseTopic
from tests.unit.net.cluster.metadata_answers import missing, response, topic, view_of
from tests.worlds.backing import ORDERS, PAYMENTS

RECREATED_ORDERS = TopicId(b"topic-id-orders2")


def test_a_topic_is_found_by_name_and_by_id_with_its_leaders() -> None:
    # When
    view = view_of(topic("orders", ORDERS, (1, 5), (2, 6)))

    # Then
    expected = TopicDescription(ORDERS, "orders", 2)
    assert view.topic_named("orders", 0) == expected
    assert view.topic_with_id(ORDERS, 0) == expected
    assert view.leader_of(ORDERS, 1) == PartitionLeader(2, 6)
    assert view.leader_of(ORDERS, 2) is None
    assert view.leader_of(ORDERS, -1) is None
    assert view.leader_of(PAYMENTS, 0) is None


def test_no_topic_has_the_zero_id_so_that_nobody_need_be_asked_about_it() -> None:
    # Given
    view = view_of()

    # When
    unheard = [view.is_unheard(topic_id, 0) for topic_id in (ORDERS, TopicId(bytes(16)))]

    # Then
    assert unheard == [True, False]


def test_brokers_that_came_went_or_moved_are_a_change() -> None:
    # Given
    view = view_of()

    # When
    changes = [
        view.absorb(response(node_ids=node_ids), asked_names=[], now_ms=0).are_brokers_changed
        for node_ids in [(1,), (1, 2), (1, 2), (2,)]
    ]

    # Then
    assert changes == [False, True, False, True]
    assert view.brokers == {2: ClusterBroker(2, "kafka", 9092, "r")}
    assert view.cluster_id == "c"


def test_a_moved_leader_is_a_change_of_its_topic_alone() -> None:
    # Given
    view = view_of(topic("orders", ORDERS, (1, 5)), topic("payments", PAYMENTS, (1, 0)))

    # When
    changes = view.absorb(
        response(topic("orders", ORDERS, (2, 6)), topic("payments", PAYMENTS, (1, 0))),
        asked_names=[],
        now_ms=0,
    )

    # Then
    assert changes.moved_topics == {ORDERS}
    assert view.leader_of(ORDERS, 0) == PartitionLeader(2, 6)


def test_a_broker_that_is_behind_does_not_bring_back_an_earlier_leader() -> None:
    # Given
    view = view_of(topic("orders", ORDERS, (2, 6)))

    # When
    changes = view.absorb(response(topic("orders", ORDERS, (1, 5))), asked_names=["orders"], now_ms=0)

    # Then
    assert changes.moved_topics == set()
    assert view.leader_of(ORDERS, 0) == PartitionLeader(2, 6)


def test_a_partition_without_a_leader_is_known_to_have_none() -> None:
    # Given
    view = view_of(topic("orders", ORDERS, (1, 5)))

    # When
    view.absorb(response(topic("orders", ORDERS, (-1, 5))), asked_names=["orders"], now_ms=0)

    # Then
    assert view.leader_of(ORDERS, 0) == PartitionLeader(-1, 5)


def test_more_partitions_are_a_change() -> None:
    # Given
    view = view_of(topic("orders", ORDERS, (1, 5)))

    # When
    changes = view.absorb(response(topic("orders", ORDERS, (1, 5), (1, 0))), asked_names=["orders"], now_ms=0)

    # Then
    assert changes.moved_topics == {ORDERS}
    assert view.topic_with_id(ORDERS, 0) == TopicDescription(ORDERS, "orders", 2)


def test_a_partition_number_out_of_range_is_left_out() -> None:
    # Given
    strange = topic("orders", ORDERS, (1, 5))
    strange.partitions.append(MetadataResponsePartition(partition_index=2**31 - 1, leader_id=1))

    # When
    view = view_of(strange)

    # Then
    assert view.leader_of(ORDERS, 2**31 - 1) is None
    assert view.leader_of(ORDERS, 0) == PartitionLeader(1, 5)


def test_a_topic_created_anew_under_its_name_replaces_the_old_one() -> None:
    # Given
    view = view_of(topic("orders", ORDERS, (1, 5)))

    # When
    changes = view.absorb(
        response(topic("orders", RECREATED_ORDERS, (1, 0))), asked_names=["orders"], now_ms=0
    )

    # Then
    assert changes.moved_topics == {ORDERS, RECREATED_ORDERS}
    assert view.topic_with_id(ORDERS, 0) is None
    assert view.topic_named("orders", 0) == TopicDescription(RECREATED_ORDERS, "orders", 1)


@pytest.mark.parametrize("answer", [[missing("orders")], []])
def test_a_topic_that_was_asked_for_and_is_not_there_is_gone(answer: list[MetadataResponseTopic]) -> None:
    # Given
    view = view_of(topic("orders", ORDERS, (1, 5)))

    # When
    changes = view.absorb(response(*answer), asked_names=["orders"], now_ms=0)

    # Then
    assert changes.moved_topics == {ORDERS}
    assert view.topic_named("orders", 0) is None
    assert list(view.topic_names) == []


def test_a_topic_that_was_not_asked_for_stays() -> None:
    # Given
    view = view_of(topic("orders", ORDERS, (1, 5)))

    # When
    changes = view.absorb(response(), asked_names=["payments"], now_ms=0)

    # Then
    assert changes.moved_topics == set()
    assert list(view.topic_names) == ["orders"]


def test_a_topic_that_older_brokers_describe_while_it_has_no_leader_is_there() -> None:
    # Given
    fresh = topic("orders", ORDERS, (-1, 0))
    fresh.error_code = ErrorCode.LEADER_NOT_AVAILABLE

    # When
    view = view_of(fresh)

    # Then
    assert view.topic_named("orders", 0) == TopicDescription(ORDERS, "orders", 1)


def test_what_was_found_missing_is_not_asked_for_again_for_a_while() -> None:
    # Given
    view = view_of(topic("orders", ORDERS, (1, 5)))

    # When
    view.note_missing(["orders", "nothing"], [PAYMENTS], now_ms=100)

    # Then
    assert not view.is_unheard("orders", 100)
    assert not view.is_unheard("nothing", 1099)
    assert not view.is_unheard(PAYMENTS, 1099)
    assert view.is_unheard("nothing", 1100)
    assert view.is_unheard(PAYMENTS, 1100)
    assert view.is_unheard("something else", 100)


def test_what_is_missing_is_remembered_up_to_a_bound_the_newest_first() -> None:
    # Given
    view = view_of()
    view.note_missing(["first", "again"], [], now_ms=100)

    # When
    view.note_missing(["again", *(f"{number}" for number in range(MOST_MISSING - 1))], [], now_ms=200)

    # Then
    assert view.is_unheard("first", 200)
    assert not view.is_unheard("again", 200)
    assert not view.is_unheard("0", 200)


def test_topics_that_nobody_asks_about_are_forgotten() -> None:
    # Given
    view = view_of(topic("orders", ORDERS, (1, 5)), topic("payments", PAYMENTS, (1, 0)))
    view.topic_with_id(ORDERS, 500)
    view.absorb(response(topic("payments", PAYMENTS, (1, 0))), asked_names=["payments"], now_ms=600)

    # When
    view.forget_idle(asked_before_ms=500)

    # Then
    assert list(view.topic_names) == ["orders"]
    assert view.topic_with_id(PAYMENTS, 600) is None


def test_names_are_trusted_from_the_moment_a_broker_last_spoke_of_them() -> None:
    # Given
    view = view_of(topic("orders", ORDERS, (1, 5)), topic("payments", PAYMENTS, (1, 0)))
    view.absorb(response(topic("orders", ORDERS, (1, 5))), asked_names=["orders"], now_ms=300)

    # When
    stale = view.names_not_confirmed_after([ORDERS, PAYMENTS, RECREATED_ORDERS], 299)

    # Then
    assert stale == {"payments"}


# ---- topics that are gone


def test_a_topic_that_a_broker_will_not_speak_of_stays_as_it_was() -> None:
    # Given
    view = view_of(topic("orders", ORDERS, (1, 5)))

    # When
    refused = missing("orders", ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    changes = view.absorb(response(refused), asked_names=["orders"], now_ms=10)

    # Then
    assert changes.moved_topics == set()
    assert view.topic_named("orders", 10) == TopicDescription(ORDERS, "orders", 1)


def test_what_is_undecided_stays_as_it_was() -> None:
    # Given
    view = view_of(topic("orders", ORDERS, (1, 5)))

    # When
    for answer in (missing("orders"), topic("orders", RECREATED_ORDERS, (1, 0))):
        view.absorb(response(answer), asked_names=["orders"], now_ms=10, undecided={"orders"})

    # Then
    assert view.id_of("orders") == ORDERS


def test_an_id_that_is_gone_is_remembered_as_gone_for_some_minutes_or_until_it_is_back() -> None:
    # Given
    view = view_of(topic("orders", ORDERS, (1, 5)), topic("payments", PAYMENTS, (1, 0)))
    view.absorb(response(), asked_names=["orders"], now_ms=10)
    was_gone = view.was_gone(ORDERS) and not view.is_unheard(ORDERS, 10)

    # When
    view.absorb(response(), asked_names=["payments"], now_ms=10 + GONE_TTL_MS)
    after_a_while = view.was_gone(ORDERS)
    view.absorb(response(topic("payments", PAYMENTS, (1, 0))), asked_names=["payments"], now_ms=20)

    # Then
    assert (was_gone, after_a_while) == (True, False)
    assert view.is_unheard(ORDERS, 20)
    assert not view.was_gone(PAYMENTS)


def test_who_went_before_is_not_gone_through_for_each_topic_that_goes() -> None:
    # Given
    class Watched(OrderedDict[TopicId, int]):
        seen_count = 0

        def __iter__(self) -> Iterator[TopicId]:
            for each in super().__iter__():
                Watched.seen_count += 1
                yield each

        def items(self) -> Any:
            return [(each, self[each]) for each in self]

    ids = {f"t-{number}": TopicId(f"{number:016}".encode()) for number in range(300)}
    view = view_of(*(topic(name, topic_id, (1, 0)) for name, topic_id in ids.items()))
    view._gone_ms = Watched()

    # When
    view.absorb(response(), asked_names=[*ids], now_ms=10)

    # Then
    assert all(map(view.was_gone, ids.values()))
    assert Watched.seen_count <= 2 * len(ids)


def test_the_version_rises_with_every_change_and_with_nothing_else() -> None:
    # Given
    view = view_of(topic("orders", ORDERS, (1, 5)))
    versions = [view.version]

    # When
    for answer in (topic("orders", ORDERS, (1, 5)), topic("orders", ORDERS, (2, 6)), missing("orders")):
        view.absorb(response(answer), asked_names=["orders"], now_ms=0)
        versions.append(view.version)

    # Then
    assert [later > sooner for sooner, later in pairwise(versions)] == [False, True, True]


def test_a_topic_that_is_forgotten_is_a_change_for_those_who_compare() -> None:
    # Given
    view = view_of(topic("orders", ORDERS, (1, 5)))
    version = view.version

    # When
    view.forget_idle(asked_before_ms=1, apart_from={"orders"})
    kept = view.version
    view.forget_idle(asked_before_ms=1)

    # Then
    assert kept == version
    assert view.version > version


@pytest.mark.parametrize("next_answer", [(), (topic("orders", RECREATED_ORDERS, (1, 1)),)])
def test_an_id_under_two_names_is_that_of_the_last_one(
    next_answer: tuple[MetadataResponseTopic, ...],
) -> None:
    """No broker says so. What one that does leaves behind must not break all that others say later."""
    # Given
    view = view_of(topic("orders", ORDERS, (1, 1)), topic("sales", ORDERS, (1, 1)))
    view.absorb(response(topic("sales", PAYMENTS, (1, 1))), asked_names=["sales"], now_ms=1)

    # When
    view.absorb(response(*next_answer), asked_names=["orders", "sales"], now_ms=2)

    # Then
    found = view.topic_named("orders", 2)
    assert found == (TopicDescription(RECREATED_ORDERS, "orders", 1) if next_answer else None)
    assert view.topic_with_id(ORDERS, 2) is None


def test_a_broker_that_is_not_named_any_more_is_down_if_replicas_are_on_it_until_it_is_named_again() -> None:
    # Given
    view = view_of()
    half = topic("orders", ORDERS, (-1, 7), offline=[1])
    told = []

    # When
    for now_ms, node_ids in ((0, (1, 2, 3)), (500, (3,)), (900, (1, 3))):
        view.absorb(response(half, node_ids=node_ids), asked_names=["orders"], now_ms=now_ms)
        of_brokers = [(view.left_ms(node_id), view.is_awaited(node_id)) for node_id in (1, 2)]
        told.append((*of_brokers, view.offline_replicas(ORDERS, 0)))

    # Then
    assert told == [
        ((None, False), (None, False), ()),
        ((500, True), (500, False), (1,)),
        ((None, False), (500, False), ()),
    ]


def test_of_very_many_lost_replicas_none_is_looked_at_to_find_brokers_that_are_down() -> None:
    # Given
    lost, back = [(-1, 7)] * 20_000, topic("sales", ORDERS, (1, 8))
    answers = [*(topic(name, ORDERS, *lost, offline=[9]) for name in ("orders", "sales")), back]
    view, told, taken_s = view_of(), [], -time.process_time()

    # When
    for answer in answers:
        view.absorb(response(answer), asked_names=[], now_ms=0)
        told.append([node_id for node_id in range(3_000) if view.is_awaited(node_id)])

    # Then to look at each would take six seconds
    assert (told, taken_s + time.process_time() < 2) == ([[9], [9], []], True)


def test_brokers_that_left_are_remembered_up_to_a_bound() -> None:
    # Given
    view, many = view_of(), range(MOST_LEFT + 1)
    view.absorb(response(node_ids=tuple(many)), asked_names=(), now_ms=0)

    # When
    view.absorb(response(node_ids=()), asked_names=(), now_ms=1)

    # Then
    assert sum(view.left_ms(node_id) is not None for node_id in many) == MOST_LEFT
