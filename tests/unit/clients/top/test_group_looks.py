"""What is asked of a real admin port for `kproxy top`."""

from kproxy.clients.top.group_looks import HeldByMember, group_look, groups_look, held_by_member
from kproxy.handlers.live.share_counters import GroupCounts
from kproxy.share.identifiers import GroupId
from tests.in_memory.inspectable import ORDERS_TEXT, Inspectable, acquire, serving


def busy() -> Inspectable:
    inspectable = Inspectable()
    inspectable.join("alice")
    share_partition = inspectable.share_partition()
    acquire(share_partition, "alice", 100, 109)
    acquire(share_partition, "bob", 110, 119)
    inspectable.counts[GroupId("workers")] = GroupCounts(20, 5, 3)
    return inspectable


def test_a_look_at_all_groups_has_what_rates_are_made_of() -> None:
    # When
    with serving(busy().server()) as url:
        look = groups_look(url, now_s=7.0)

    # Then
    (group,) = look.groups
    assert (look.taken_s, group["deliveredCount"], group["inFlightCount"]) == (7.0, 20, 20)


def test_a_look_at_one_group_has_its_windows_and_what_each_member_holds() -> None:
    # When
    with serving(busy().server()) as url:
        look = group_look(url, "workers")

    # Then
    assert [each["partition"] for each in look.share_partitions] == [0, 1]
    assert [run["memberId"] for run in look.runs[ORDERS_TEXT, 0]] == ["alice", "bob"]
    assert look.held == {"alice": HeldByMember(10, 1_000), "bob": HeldByMember(10, 1_000)}


def test_what_nobody_holds_is_held_by_nobody() -> None:
    # Given
    run = {"memberId": None, "firstOffset": 0, "lastOffset": 9}

    # Then
    assert held_by_member([run]) == {}
