"""AlterConfigs of share groups is refused, with what to use instead."""

from kproxy.error_codes import ErrorCode
from kproxy.handlers.administration_bounds import MOST_TOLD_WHY
from kproxy.handlers.apis.configs.alter_configs import AlterConfigsHandler
from kproxy.handlers.request_context import RequestContext
from kproxy.wire.messages.alter_configs_request import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
)
from tests.in_memory.recording_observer import RecordingObserver
from tests.in_memory.scripted_authorizer import EVERYBODY_MAY

CONTEXT = RequestContext(1, 1, 33, 2, "client", "/127.0.0.1")


async def test_every_resource_is_refused_in_order_with_the_api_to_use_as_one_event() -> None:
    # Given
    observer = RecordingObserver()
    configs = [AlterableConfig("share.auto.offset.reset", "earliest")]
    request = AlterConfigsRequest([AlterConfigsResource(32, name, configs) for name in ("g", "h")])

    # When
    answer = await AlterConfigsHandler(observer, EVERYBODY_MAY).serve(request, CONTEXT)

    # Then
    assert [(each.resource_name, each.error_code) for each in answer.responses] == [
        ("g", ErrorCode.INVALID_REQUEST),
        ("h", ErrorCode.INVALID_REQUEST),
    ]
    assert "use IncrementalAlterConfigs" in (answer.responses[0].error_message or "")
    assert observer.reasons == ["invalid_request"]


async def test_the_first_thousand_resources_are_told_why() -> None:
    """The words are ten times as long as the name of a resource: an answer would be many times its request."""
    resources = [AlterConfigsResource(32, f"g{number}", []) for number in range(MOST_TOLD_WHY + 1)]

    answer = await AlterConfigsHandler(RecordingObserver(), EVERYBODY_MAY).serve(
        AlterConfigsRequest(resources), CONTEXT
    )

    assert [each.error_message is not None for each in answer.responses] == [True] * MOST_TOLD_WHY + [False]
    assert {each.error_code for each in answer.responses} == {ErrorCode.INVALID_REQUEST}
