"""A name that nobody knows is told from one of which there is nothing to show."""

from collections.abc import Mapping

import pytest

from kproxy.admin.known_names import KnownNames
from kproxy.admin.queries import NothingThere
from tests.in_memory.inspectable import ORDERS, ORDERS_TEXT, PAYMENTS, Inspectable


def a_group_with_a_member() -> Inspectable:
    inspectable = Inspectable()
    inspectable.join("alice")
    return inspectable


def known(inspectable: Inspectable) -> KnownNames:
    return KnownNames(
        inspectable.coordinator, inspectable.sessions, inspectable.live, inspectable.topic_names.get
    )


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"group": "workers"},
        {"member": "alice"},
        {"group": "workers", "member": "alice"},
        {"topic": "orders"},
        {"topic": ORDERS_TEXT},
        {"group": "workers", "topic": "orders"},
    ],
)
def test_what_a_group_has_is_known(wanted: Mapping[str, str]) -> None:
    known(a_group_with_a_member()).require(wanted)


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        (
            {"group": "wrokers"},
            "there is no share group 'wrokers': kproxy groups list (/api/v1/groups) shows those that are there",
        ),
        (
            {"member": "bob"},
            (
                "there is no member 'bob' in any share group: "
                "kproxy groups describe GROUP --members shows those that are there"
            ),
        ),
        (
            {"group": "workers", "member": "bob"},
            (
                "there is no member 'bob' in share group 'workers': "
                "kproxy groups describe workers --members shows those that are there"
            ),
        ),
        ({"topic": "oders"}, "no share group has a topic 'oders'; there is orders"),
        (
            {"group": "workers", "topic": "oders"},
            "share group 'workers' does not have a topic 'oders'; there is orders",
        ),
    ],
)
def test_a_typing_error_is_told_with_what_there_is(wanted: Mapping[str, str], complaint: str) -> None:
    # When
    with pytest.raises(NothingThere) as refusal:
        known(a_group_with_a_member()).require(wanted)

    # Then
    assert str(refusal.value) == complaint
    assert refusal.value.status == 404


def test_a_member_of_another_group_is_not_known_in_this_one() -> None:
    # Given
    inspectable = a_group_with_a_member()
    inspectable.join("carol", group_id="auditors")

    # When
    with pytest.raises(NothingThere, match="no member 'carol' in share group 'workers'"):
        known(inspectable).require({"group": "workers", "member": "carol"})


def test_who_has_a_share_session_is_known_without_being_a_member() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.open_session("dave", (ORDERS, 0), group_id="leftovers")

    # Then
    known(inspectable).require({"group": "leftovers", "member": "dave"})


def test_a_live_share_partition_makes_its_group_and_its_topic_known() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.share_partition(group_id="leftovers", topic_id=PAYMENTS)

    # Then
    known(inspectable).require({"group": "leftovers", "topic": "dG9waWMtaWQtcGF5bWVudA"})


def test_of_many_topics_the_first_ten_are_named() -> None:
    # Given
    inspectable = Inspectable()
    topics = {type(ORDERS)(bytes([number]) * 16): f"topic-{number:02}" for number in range(12)}
    inspectable.topic_names = topics
    for topic_id in topics:
        inspectable.share_partition(topic_id=topic_id)

    # When
    with pytest.raises(NothingThere) as refusal:
        known(inspectable).require({"topic": "topic"})

    # Then
    named = ", ".join(f"topic-{number:02}" for number in range(10))
    assert str(refusal.value) == f"no share group has a topic 'topic'; there are {named} and 2 more"


def test_where_there_is_no_topic_at_all_that_is_said() -> None:
    with pytest.raises(NothingThere, match="no share group has a topic 'orders'; there is none so far"):
        known(Inspectable()).require({"topic": "orders"})
