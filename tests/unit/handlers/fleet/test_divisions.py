"""Parts of requests: one for each owner, none for a process that has nothing of it.

What becomes of them is `test_fleet_apis.py` and `tests/models/test_divided_requests.py`.
"""

from collections.abc import Sequence

import pytest

from kproxy.fleet.owners import Peer
from kproxy.handlers.administration_bounds import AdministrationBounds
from kproxy.handlers.fleet.api_divisions import divisions
from kproxy.handlers.fleet.divisions import Part
from kproxy.handlers.refusal_report import RefusalReport
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.list_groups_response import ListedGroup, ListGroupsResponse
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.share_group_describe_response import DescribedGroup, ShareGroupDescribeResponse
from tests.in_memory.recording_observer import RecordingObserver
from tests.worlds.divided_fleet import a_context
from tests.worlds.waiting import turns_during

NEAR, FAR = Peer("1", "near", "127.0.0.1", 1), Peer("2", "far", "127.0.0.1", 2)


class MovingOwners:
    """A `GroupOwners`: group `moving` is another process's whenever somebody asks, the others by their names."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def peer_of_group(self, group_id: str) -> Peer | None:
        self.asked.append(group_id)
        if group_id == "moving":
            return (NEAR, FAR)[self.asked.count("moving") % 2]
        return {"near": NEAR, "far": FAR}.get(group_id)

    def peers(self) -> Sequence[Peer]:
        return NEAR, FAR


@pytest.mark.parametrize(
    ("api_key", "answer"),
    [
        (
            ApiKey.SHARE_GROUP_DESCRIBE,
            ShareGroupDescribeResponse(groups=[DescribedGroup(group_id=f"g{n}") for n in range(9_000)]),
        ),
        (ApiKey.LIST_GROUPS, ListGroupsResponse(groups=[ListedGroup(f"g{n}") for n in range(9_000)])),
    ],
)
async def test_others_have_turns_while_long_answers_are_merged(api_key: ApiKey, answer: Message) -> None:
    # Given
    request = ShareGroupDescribeRequest([f"g{n}" for n in range(9_000)])
    part = Part(FAR, request, range(9_000))
    report = RefusalReport(RecordingObserver(), a_context(api_key, 1))
    division = divisions(AdministrationBounds())[api_key]

    # When
    turn_count = await turns_during(division.merge(request, [(part, answer)], report))

    # Then
    assert turn_count >= 9_000 // 500


async def parts_of(*group_ids: str) -> Sequence[Part]:
    division = divisions(AdministrationBounds())[ApiKey.SHARE_GROUP_DESCRIBE]
    return await division.parts(ShareGroupDescribeRequest(list(group_ids), True), MovingOwners())


async def test_each_owner_has_its_groups_in_their_order_and_this_process_comes_first() -> None:
    assert await parts_of("far", "a", "near", "b", "far") == [
        Part(None, ShareGroupDescribeRequest(["a", "b"], True), [1, 3]),
        Part(FAR, ShareGroupDescribeRequest(["far", "far"], True), [0, 4]),
        Part(NEAR, ShareGroupDescribeRequest(["near"], True), [2]),
    ]


async def test_a_process_that_has_none_of_the_groups_has_no_part() -> None:
    assert await parts_of("far") == [Part(FAR, ShareGroupDescribeRequest(["far"], True), [0])]


async def test_a_request_about_nothing_is_this_process_s() -> None:
    assert await parts_of() == [Part(None, ShareGroupDescribeRequest([], True), [])]


async def test_a_group_that_is_named_twice_has_one_owner_although_it_moves_meanwhile() -> None:
    assert await parts_of("moving", "moving") == [
        Part(FAR, ShareGroupDescribeRequest(["moving", "moving"], True), [0, 1])
    ]
