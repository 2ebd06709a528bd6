"""What is asked of a real admin port to say why groups do not move."""

from itertools import count

import pytest

from kproxy.clients.diagnosis import looks
from kproxy.clients.diagnosis.looks import (
    HUNG_MS,
    PATIENCE_S,
    Place,
    backing_cluster,
    diagnosed_group,
    diagnosed_groups,
)
from kproxy.clients.failures import NotThere
from kproxy.share.identifiers import GroupId, MemberId
from kproxy.share.limits import ShareLimits
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from tests.in_memory.inspectable import ORDERS, Inspectable, acquire, serving


def several_groups(number: int) -> Inspectable:
    inspectable = Inspectable()
    for each in range(number):
        inspectable.join(f"member-{each}", group_id=f"group-{each}")
    return inspectable


def test_a_group_is_looked_into_as_far_as_is_asked_for() -> None:
    # Given
    inspectable = several_groups(1)
    acquire(inspectable.share_partition(group_id="group-0"), "member-0", 100, 109)
    inspectable.open_session("member-0", (ORDERS, 0), group_id="group-0")

    # When
    with serving(inspectable.server()) as url:
        found = diagnosed_group(url, "group-0", most=1)

    # Then
    assert (len(found.findings), found.left_out, found.silent) == (1, 1, [])


def test_what_blocks_a_group_that_everybody_left_is_found_in_what_the_state_log_has() -> None:
    # Given
    inspectable = several_groups(1)
    inspectable.leave("member-0", group_id="group-0")
    batches = (
        StateBatch(100, 102, RecordState.AVAILABLE, 2),
        StateBatch(103, 109, RecordState.ACKNOWLEDGED, 1),
    )
    inspectable.write_state(0, *batches, start_offset=100, group_id="group-0")
    inspectable.limits = ShareLimits(partition_max_record_locks=10)

    # When
    with serving(inspectable.server()) as url:
        found = diagnosed_group(url, "group-0", place=Place(partition=0)).findings[0]

    # Then
    assert found.verdict == "offsets 100 to 102: a member has to fetch; the group has no members"
    assert found.facts["blocked by"] == "offsets 100 to 102, Available, 2 of 5 attempts over"
    assert found.facts["behind it"] == "7 Acknowledged"
    assert found.facts["next"] == "nothing, until a member joins the group"
    assert found.facts["window"].startswith("full: 10 records in flight")


def hanging_on_two_share_partitions() -> Inspectable:
    """A member whose heartbeats come, and that has asked for nothing for long."""
    inspectable = several_groups(1)
    acquire(inspectable.share_partition(group_id="group-0"), "member-0", 100, 102)
    acquire(inspectable.share_partition(group_id="group-0", partition=1), "member-0", 100, 499)
    inspectable.open_session("member-0", (ORDERS, 0), (ORDERS, 1), group_id="group-0")
    inspectable.clock.advance(HUNG_MS)
    group = inspectable.coordinator.find(GroupId("group-0"))
    assert group is not None
    group.members[MemberId("member-0")].heard_ms = HUNG_MS
    return inspectable


def test_of_a_member_that_hangs_all_records_are_told_that_it_holds_wherever_they_are() -> None:
    # When
    with serving(hanging_on_two_share_partitions().server()) as url:
        found = diagnosed_group(url, "group-0", most=1)

    # Then
    assert [(hung.member["memberId"], hung.record_count, hung.is_all) for hung in found.hung] == [
        ("member-0", 403, True)
    ]


def test_where_very_much_is_in_flight_what_is_shown_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    monkeypatch.setattr(looks, "MOST_HELD", 402)

    # When
    with serving(hanging_on_two_share_partitions().server()) as url:
        found = diagnosed_group(url, "group-0", most=1)

    # Then
    assert [(hung.record_count, hung.is_all) for hung in found.hung] == [(3, False)]


def test_a_place_that_the_group_does_not_consume_is_not_there() -> None:
    with (
        serving(several_groups(1).server()) as url,
        pytest.raises(NotThere, match="has nothing of topic 'paid'; it consumes orders"),
    ):
        diagnosed_group(url, "group-0", place=Place("paid"))


def test_groups_are_looked_into_up_to_a_number_and_the_others_counted() -> None:
    # When
    with serving(several_groups(4).server()) as url:
        found = diagnosed_groups(url, most=3)

    # Then
    assert ([each.group["groupId"] for each in found.groups], found.left_out) == (
        ["group-0", "group-1", "group-2"],
        1,
    )


def test_looking_into_groups_is_over_when_it_has_taken_long() -> None:
    # Given
    clock = count(step=PATIENCE_S)

    # When
    with serving(several_groups(4).server()) as url:
        found = diagnosed_groups(url, most=4, now_s=lambda: next(clock))

    # Then
    assert (len(found.groups), found.left_out) == (1, 3)


def test_a_kproxy_that_does_not_tell_its_backing_cluster_leaves_it_open() -> None:
    with serving(Inspectable().server()) as url:
        assert backing_cluster(url) is None
