"""Which half of an AlterConfigs request is kproxy's, and how two answers become one."""

from kproxy.error_codes import ErrorCode
from kproxy.interception.rewrites.legacy_group_configs import merge_legacy_alter, split_legacy_alter
from kproxy.wire.messages.alter_configs_request import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
)
from kproxy.wire.messages.alter_configs_response import AlterConfigsResourceResponse, AlterConfigsResponse

TOPIC, GROUP = 2, 32


def altered(resource_type: int, name: str, *keys: str) -> AlterConfigsResource:
    return AlterConfigsResource(resource_type, name, [AlterableConfig(key, "1") for key in keys])


def result(resource_type: int, name: str, error_code: int = 0) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(error_code, "no" if error_code else None, resource_type, name)


def test_a_group_with_a_key_of_share_groups_is_ours_and_all_else_is_the_brokers() -> None:
    # Given
    topic, consumers = altered(TOPIC, "t", "share.name"), altered(GROUP, "c", "consumer.session.timeout.ms")
    sharing = altered(GROUP, "s", "consumer.session.timeout.ms", "share.auto.offset.reset")
    with_dead_letters = altered(GROUP, "d", "errors.deadletterqueue.topic.name")

    # When
    split = split_legacy_alter(AlterConfigsRequest([topic, sharing, consumers, with_dead_letters]))

    # Then
    assert split.local == AlterConfigsRequest([sharing, with_dead_letters])
    assert split.upstream == AlterConfigsRequest([topic, consumers])


def test_a_request_without_share_groups_goes_to_the_broker_as_it_is() -> None:
    # Given
    request = AlterConfigsRequest([altered(TOPIC, "t", "retention.ms")], validate_only=True)

    # When
    split = split_legacy_alter(request)

    # Then
    assert (split.local, split.upstream) == (None, request)


def test_the_answers_stand_in_the_order_of_the_request() -> None:
    # Given
    request = AlterConfigsRequest(
        [altered(TOPIC, "t"), altered(GROUP, "s", "share.auto.offset.reset"), altered(TOPIC, "gone")]
    )
    local = AlterConfigsResponse(responses=[result(GROUP, "s", ErrorCode.INVALID_REQUEST)])
    upstream = AlterConfigsResponse(throttle_time_ms=7, responses=[result(TOPIC, "t")])

    # When
    merged = merge_legacy_alter(request, local, upstream)

    # Then
    assert merged.throttle_time_ms == 7
    assert [(each.resource_name, each.error_code) for each in merged.responses] == [
        ("t", ErrorCode.NONE),
        ("s", ErrorCode.INVALID_REQUEST),
        ("gone", ErrorCode.UNKNOWN_SERVER_ERROR),
    ]
