"""Groups of all types in one answer: kproxy's share groups, and the broker's others."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.interception.rewrites.share_group_answers import (
    deletions_left,
    merge_deletions,
    merge_listings,
    wants_share_groups,
)
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListedGroup, ListGroupsResponse

LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
NOT_FOUND = ErrorCode.GROUP_ID_NOT_FOUND
NON_EMPTY = ErrorCode.NON_EMPTY_GROUP


def deletions(**error_codes: int) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=[DeletableGroupResult(name, error_code) for name, error_code in error_codes.items()]
    )


def codes(answer: DeleteGroupsResponse) -> list[tuple[str, int]]:
    return [(result.group_id, result.error_code) for result in answer.results]


def listed(*group_ids: str, kind: str) -> ListGroupsResponse:
    return ListGroupsResponse(groups=[ListedGroup(group_id, kind, "Stable", kind) for group_id in group_ids])


# ---- deletions


def test_the_broker_is_asked_to_delete_what_is_no_share_group() -> None:
    request = DeleteGroupsRequest(["a", "share", "b", "a"])

    assert deletions_left(request, deletions(share=0)) == DeleteGroupsRequest(["a", "b"])


def test_the_broker_is_not_asked_to_delete_share_groups_whatever_became_of_them() -> None:
    request = DeleteGroupsRequest(["gone", "busy"])

    assert deletions_left(request, deletions(gone=0, busy=NON_EMPTY)) is None


def test_the_broker_is_asked_about_groups_of_which_kproxy_cannot_tell_what_they_are() -> None:
    request = DeleteGroupsRequest(["g"])

    assert deletions_left(request, deletions(g=LOADING)) == request


def test_a_request_for_nothing_is_the_brokers() -> None:
    assert deletions_left(DeleteGroupsRequest(), deletions()) == DeleteGroupsRequest()


def test_every_group_is_answered_once_in_the_order_of_the_request() -> None:
    request = DeleteGroupsRequest(["b", "share", "a", "b", "busy"])
    upstream = deletions(a=0, b=NOT_FOUND)
    upstream.throttle_time_ms = 5

    merged = merge_deletions(request, deletions(busy=NON_EMPTY, share=0), upstream)

    assert codes(merged) == [("b", NOT_FOUND), ("share", 0), ("a", 0), ("busy", NON_EMPTY)]
    assert merged.throttle_time_ms == 5


@pytest.mark.parametrize(
    ("theirs", "told"),
    [(0, 0), (NON_EMPTY, NON_EMPTY), (NOT_FOUND, LOADING)],
    ids=["gone", "busy", "unknown"],
)
def test_a_group_that_the_broker_knows_is_the_brokers_and_else_kproxys_doubt_is_told(
    theirs: int, told: int
) -> None:
    merged = merge_deletions(DeleteGroupsRequest(["g"]), deletions(g=LOADING), deletions(g=theirs))

    assert codes(merged) == [("g", told)]


def test_share_groups_alone_need_no_broker() -> None:
    merged = merge_deletions(DeleteGroupsRequest(["g"]), deletions(g=0), None)

    assert codes(merged) == [("g", 0)]


def test_a_group_that_nobody_answers_for_is_not_called_deleted() -> None:
    merged = merge_deletions(DeleteGroupsRequest(["g"]), deletions(), deletions())

    assert codes(merged) == [("g", ErrorCode.UNKNOWN_SERVER_ERROR)]


# ---- listings


@pytest.mark.parametrize(
    ("types", "are_wanted"),
    [([], True), (["share"], True), (["SHARE", "classic"], True), (["classic", "nonsense"], False)],
)
def test_share_groups_are_wanted_unless_only_others_are(types: list[str], *, are_wanted: bool) -> None:
    assert wants_share_groups(ListGroupsRequest(types_filter=types)) is are_wanted


def test_share_groups_stand_behind_the_brokers_groups() -> None:
    request, upstream = ListGroupsRequest(), listed("a", "b", kind="consumer")
    upstream.throttle_time_ms = 5

    merged = merge_listings(request, listed("g", kind="share"), upstream)

    assert [group.group_id for group in merged.groups] == ["a", "b", "g"]
    assert merged.throttle_time_ms == 5


def test_a_group_that_both_have_is_listed_once() -> None:
    merged = merge_listings(ListGroupsRequest(), listed("g", kind="share"), listed("g", "h", kind="consumer"))

    assert [(group.group_id, group.group_type) for group in merged.groups] == [
        ("h", "consumer"),
        ("g", "share"),
    ]


def test_a_list_that_share_groups_are_not_wanted_in_is_the_brokers() -> None:
    upstream = listed("a", kind="consumer")

    assert merge_listings(ListGroupsRequest(types_filter=["consumer"]), None, upstream) == upstream
    assert merge_listings(ListGroupsRequest(types_filter=["consumer"]), None, None) == ListGroupsResponse()


def test_an_error_of_the_broker_is_that_of_the_list() -> None:
    failed = ListGroupsResponse(error_code=LOADING)

    assert merge_listings(ListGroupsRequest(), listed("g", kind="share"), failed) == failed


def test_where_share_groups_cannot_be_told_there_is_no_list() -> None:
    local = ListGroupsResponse(error_code=LOADING)

    assert merge_listings(ListGroupsRequest(), local, None) == local


def test_an_answer_about_all_groups_in_order_is_the_whole_answer_as_it_is() -> None:
    local = deletions(g=0, h=NON_EMPTY)

    assert merge_deletions(DeleteGroupsRequest(["g", "h", "g"]), local, None) is local
    assert merge_deletions(DeleteGroupsRequest(["h", "g"]), local, None) == deletions(h=NON_EMPTY, g=0)
