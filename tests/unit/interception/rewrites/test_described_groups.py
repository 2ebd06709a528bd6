"""DescribeGroups: what is said of share groups, beside groups that the broker knows."""

import pytest

from kproxy.interception.rewrites.described_groups import LARGEST_READ_BYTES, tell_share_groups
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.describe_groups_request import DescribeGroupsRequest
from kproxy.wire.messages.describe_groups_response import DescribedGroup, DescribeGroupsResponse
from tests.worlds.conversing import Conversation, joined, request, response

DESCRIBE = ApiKey.DESCRIBE_GROUPS


def answer(version: int, *groups: DescribedGroup) -> bytes:
    return response(DESCRIBE, version, 7, DescribeGroupsResponse(groups=list(groups)))


def unknown(group_id: str) -> DescribedGroup:
    return DescribedGroup(69, f"Group {group_id} not found.", group_id, "Dead")


def no_classic_group(group_id: str) -> DescribedGroup:
    return DescribedGroup(69, f"Group {group_id} is not a classic group.", group_id, "Dead")


PLAIN = DescribedGroup(0, None, "plain", "Stable", "consumer")


def test_a_share_group_is_told_in_other_words_than_a_group_that_nobody_knows() -> None:
    told = answer(6, PLAIN, unknown("g"), unknown("nobody"), unknown("g"))

    rewritten = joined(tell_share_groups({"g"}, 6, memoryview(told)[4:]))

    assert rewritten == answer(6, PLAIN, no_classic_group("g"), unknown("nobody"), no_classic_group("g"))


@pytest.mark.parametrize("groups", [[PLAIN], [unknown("nobody")], [DescribedGroup(0, None, "g", "Stable")]])
def test_an_answer_without_a_share_group_is_not_touched(groups: list[DescribedGroup]) -> None:
    """A group of the broker's own with the id of a share group is the broker's."""
    told = answer(6, *groups)

    assert joined(tell_share_groups({"g"}, 6, memoryview(told)[4:])) == told


@pytest.mark.parametrize(
    ("version", "share_group_ids", "told", "heard"),
    [
        (6, {"g"}, unknown("g"), no_classic_group("g")),
        (6, set(), unknown("g"), unknown("g")),
        (5, {"g"}, DescribedGroup(0, None, "g", "Dead"), DescribedGroup(0, None, "g", "Dead")),
    ],
)
def test_a_connection_hears_the_words_where_there_are_share_groups_and_a_place_for_words(
    version: int, share_group_ids: set[str], told: DescribedGroup, heard: DescribedGroup
) -> None:
    conversation = Conversation(share_group_ids=share_group_ids)
    asked = request(DESCRIBE, version, 7, DescribeGroupsRequest(["g"]))

    to_broker = conversation.client_sends(asked)
    to_client = conversation.broker_sends(answer(version, told))

    assert to_broker == asked
    assert to_client == answer(version, heard)


def test_an_answer_about_very_many_groups_passes_as_it_came() -> None:
    """To read it would hold up everybody else; it is right but for the words."""
    told = answer(6, *[unknown("g")] * (LARGEST_READ_BYTES // 30))

    assert joined(tell_share_groups({"g"}, 6, memoryview(told)[4:])) == told
