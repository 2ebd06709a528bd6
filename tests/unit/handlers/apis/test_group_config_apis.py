"""The APIs for configurations of groups in the registry."""

from kproxy.handlers.request_context import RequestContext
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest
from kproxy.wire.messages.describe_configs_response import DescribeConfigsResponse
from kproxy.wire.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from kproxy.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from tests.worlds.share_group_world import ShareGroupWorld


async def test_a_fault_in_an_api_for_configurations_is_an_answer_without_results() -> None:
    # Given
    world = ShareGroupWorld()
    context = RequestContext(1, 1, 44, 1, "client", "/127.0.0.1")
    requests: list[tuple[int, Message]] = [
        (ApiKey.INCREMENTAL_ALTER_CONFIGS, IncrementalAlterConfigsRequest([None])),  # type: ignore[list-item]  # on purpose
        (ApiKey.DESCRIBE_CONFIGS, DescribeConfigsRequest([None])),  # type: ignore[list-item]  # on purpose
    ]

    # When
    answers = [
        await world.groups.apis.serve(DecodedRequest(api_key, 1, 1, "client", request), context)
        for api_key, request in requests
    ]

    # Then
    assert answers == [IncrementalAlterConfigsResponse(), DescribeConfigsResponse()]
    assert [type(fault) for fault in world.faults] == [AttributeError, AttributeError]
