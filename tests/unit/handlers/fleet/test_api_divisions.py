"""Which APIs are divided, how each refuses a part, and what is too much for each.

All are divided that are about groups, unless their answer is the same whoever is asked.
"""

from collections.abc import Sequence
from typing import Final

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.handlers.administration_bounds import AdministrationBounds
from kproxy.handlers.apis.group_id_guard import GUARDED_KEYS
from kproxy.handlers.fleet.api_divisions import divisions
from kproxy.handlers.fleet.divisions import Part
from kproxy.handlers.refusal_report import RefusalReport
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.delete_groups_response import DeleteGroupsResponse
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.describe_configs_response import DescribeConfigsResponse
from kproxy.wire.messages.describe_share_group_offsets_request import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kproxy.wire.messages.describe_share_group_offsets_response import DescribeShareGroupOffsetsResponse
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kproxy.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from kproxy.wire.messages.list_config_resources_request import ListConfigResourcesRequest
from kproxy.wire.messages.list_config_resources_response import ConfigResource, ListConfigResourcesResponse
from tests.in_memory.recording_observer import RecordingObserver
from tests.worlds.divided_fleet import DividedFleet, a_context, a_group_with_a_member

GROUP: Final = 32
UNAVAILABLE: Final = ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_every_served_api_is_divided_but_those_that_are_refused_whoever_is_asked() -> None:
    apis = DividedFleet(1, {}).processes[0].groups.apis
    served = {entry.api_key for entry in (*apis.entries, *apis.partial_entries)}
    alike_everywhere = GUARDED_KEYS | {ApiKey.ALTER_CONFIGS, ApiKey.FIND_COORDINATOR}
    assert served - divisions(AdministrationBounds()).keys() == alike_everywhere
    assert divisions(AdministrationBounds()).keys() <= served


def errors_of(answer: Message) -> list[tuple[str, int]]:
    """The id of each group of an answer, and its error."""
    match answer:
        case DescribeShareGroupOffsetsResponse():
            return [(group.group_id, group.error_code) for group in answer.groups]
        case DeleteGroupsResponse():
            return [(result.group_id, result.error_code) for result in answer.results]
        case DescribeConfigsResponse():
            return [(result.resource_name, result.error_code) for result in answer.results]
        case IncrementalAlterConfigsResponse():
            return [(result.resource_name, result.error_code) for result in answer.responses]
        case _:
            raise AssertionError(answer)


PARTED: Final[Sequence[tuple[int, int, Message, int]]] = (
    (
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
        1,
        DescribeShareGroupOffsetsRequest(
            groups=[DescribeShareGroupOffsetsRequestGroup(name, None) for name in ("theirs", "ours")]
        ),
        ErrorCode.NONE,
    ),
    (ApiKey.DELETE_GROUPS, 3, DeleteGroupsRequest(["theirs", "ours"]), ErrorCode.NON_EMPTY_GROUP),
    (
        ApiKey.DESCRIBE_CONFIGS,
        4,
        DescribeConfigsRequest([DescribeConfigsResource(GROUP, name, None) for name in ("theirs", "ours")]),
        ErrorCode.NONE,
    ),
    (
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        1,
        IncrementalAlterConfigsRequest(
            [AlterConfigsResource(GROUP, name, []) for name in ("theirs", "ours")]
        ),
        ErrorCode.NONE,
    ),
)


@pytest.mark.parametrize(("api_key", "version", "request_", "own_error"), PARTED)
async def test_every_api_refuses_its_part_in_its_own_way(
    api_key: int, version: int, request_: Message, own_error: int
) -> None:
    # Given
    fleet = DividedFleet(2, {"ours": 0, "theirs": 1})
    await a_group_with_a_member(fleet.processes[0], "ours")
    fleet.requests.unreachable.add("token-1")

    # When
    answer = await fleet.answer(request_, api_key, version)

    # Then
    assert errors_of(answer) == [("theirs", UNAVAILABLE), ("ours", own_error)]


TOO_MANY: Final[Sequence[tuple[int, int, Message]]] = (
    (ApiKey.DELETE_GROUPS, 3, DeleteGroupsRequest(["ours", "theirs"] * 3)),
    (
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
        1,
        DescribeShareGroupOffsetsRequest(
            [DescribeShareGroupOffsetsRequestGroup(name) for name in ("ours", "theirs") * 3]
        ),
    ),
    (
        ApiKey.DESCRIBE_CONFIGS,
        4,
        DescribeConfigsRequest(
            [DescribeConfigsResource(GROUP, f"{name}{n}") for name in ("ours", "theirs") for n in range(501)]
        ),
    ),
    (
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        1,
        IncrementalAlterConfigsRequest(
            [AlterConfigsResource(GROUP, f"{name}{n}") for name in ("ours", "theirs") for n in range(501)]
        ),
    ),
)


@pytest.mark.parametrize(("api_key", "version", "request_"), TOO_MANY)
async def test_what_is_too_much_for_one_process_is_too_much_for_all_of_them(
    api_key: int, version: int, request_: Message
) -> None:
    owner_of = {"ours": 0, "theirs": 1} | {f"theirs{n}": 1 for n in range(501)}
    fleet = DividedFleet(2, owner_of, AdministrationBounds(most_named=5))
    found, expected = await fleet.answers(request_, api_key, version)
    assert found == expected
    assert fleet.requests.asked == []


async def test_a_listing_of_more_configurations_than_an_answer_may_tell_of_is_refused_as_by_one_process() -> (
    None
):
    # Given
    division = divisions(AdministrationBounds(most_told=3))[ApiKey.LIST_CONFIG_RESOURCES]
    request = ListConfigResourcesRequest()
    told = [
        ListConfigResourcesResponse(config_resources=[ConfigResource(name, 32) for name in names])
        for names in (("a", "b", "c"), ("c", "b"), ("d",))
    ]
    observer = RecordingObserver()
    report = RefusalReport(observer, a_context(ApiKey.LIST_CONFIG_RESOURCES, 1))
    part = Part(None, request)

    # When
    few = await division.merge(request, [(part, told[0]), (part, told[1])], report)
    many = await division.merge(request, [(part, answer) for answer in told], report)

    # Then
    report.tell()
    assert few == told[0]
    assert many == ListConfigResourcesResponse(error_code=ErrorCode.INVALID_REQUEST)
    assert observer.reasons == ["invalid_request"]
