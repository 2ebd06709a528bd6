"""How two answers to a request about configurations become one."""

from kproxy.error_codes import ErrorCode
from kproxy.interception.rewrites.group_config_answers import merge_alter, merge_describe, merge_legacy_alter
from kproxy.interception.rewrites.group_config_requests import MOST_BESIDE_GROUPS, split_describe
from kproxy.wire.messages.alter_configs_request import AlterConfigsRequest
from kproxy.wire.messages.alter_configs_response import AlterConfigsResponse
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.describe_configs_response import DescribeConfigsResponse
from kproxy.wire.messages.incremental_alter_configs_request import (
    IncrementalAlterConfigsRequest,
)
from kproxy.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from tests.worlds.group_config_messages import (
    GROUP,
    OTHER,
    SHARE,
    TOPIC,
    alter_result,
    altered,
    described,
    legacy,
    legacy_result,
)


def test_alter_results_stand_in_the_order_of_the_request() -> None:
    # Given
    request = IncrementalAlterConfigsRequest(
        [altered(GROUP, "g", SHARE), altered(TOPIC, "t", "a"), altered(GROUP, "h", SHARE)]
    )
    local = IncrementalAlterConfigsResponse(
        responses=[alter_result(GROUP, "g"), alter_result(GROUP, "h", ErrorCode.INVALID_CONFIG)]
    )
    upstream = IncrementalAlterConfigsResponse(
        throttle_time_ms=9, responses=[alter_result(TOPIC, "t", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    )

    # When
    merged = merge_alter(request, local, upstream)

    # Then
    assert merged == IncrementalAlterConfigsResponse(
        throttle_time_ms=9,
        responses=[
            alter_result(GROUP, "g"),
            alter_result(TOPIC, "t", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            alter_result(GROUP, "h", ErrorCode.INVALID_CONFIG),
        ],
    )


def test_a_resource_with_keys_of_both_fails_when_either_half_does_and_ours_is_told_first() -> None:
    # Given
    names = ("ok", "theirs", "ours", "both")
    request = IncrementalAlterConfigsRequest([altered(GROUP, name, SHARE, OTHER) for name in names])
    ours = dict.fromkeys(names, 0) | {"ours": ErrorCode.INVALID_CONFIG, "both": ErrorCode.INVALID_CONFIG}
    theirs = dict.fromkeys(names, 0) | {
        "theirs": ErrorCode.INVALID_REQUEST,
        "both": ErrorCode.INVALID_REQUEST,
    }

    # When
    merged = merge_alter(
        request,
        IncrementalAlterConfigsResponse(responses=[alter_result(GROUP, *item) for item in ours.items()]),
        IncrementalAlterConfigsResponse(responses=[alter_result(GROUP, *item) for item in theirs.items()]),
    )

    # Then
    assert [(result.resource_name, result.error_code) for result in merged.responses] == [
        ("ok", ErrorCode.NONE),
        ("theirs", ErrorCode.INVALID_REQUEST),
        ("ours", ErrorCode.INVALID_CONFIG),
        ("both", ErrorCode.INVALID_CONFIG),
    ]


def test_a_resource_that_nobody_answered_is_in_error_and_a_surplus_answer_is_kept() -> None:
    # Given
    request = IncrementalAlterConfigsRequest([altered(TOPIC, "t", "a")])
    surplus = alter_result(TOPIC, "another")

    # When
    merged = merge_alter(request, None, IncrementalAlterConfigsResponse(responses=[surplus]))

    # Then
    assert [(result.resource_name, result.error_code) for result in merged.responses] == [
        ("t", ErrorCode.UNKNOWN_SERVER_ERROR),
        ("another", ErrorCode.NONE),
    ]


def test_the_answers_stand_in_the_order_of_the_request() -> None:
    # Given
    request = AlterConfigsRequest(
        [legacy(TOPIC, "t"), legacy(GROUP, "s", "share.auto.offset.reset"), legacy(TOPIC, "gone")]
    )
    local = AlterConfigsResponse(responses=[legacy_result(GROUP, "s", ErrorCode.INVALID_REQUEST)])
    upstream = AlterConfigsResponse(throttle_time_ms=7, responses=[legacy_result(TOPIC, "t")])

    # When
    merged = merge_legacy_alter(request, local, upstream)

    # Then
    assert merged.throttle_time_ms == 7
    assert [(each.resource_name, each.error_code) for each in merged.responses] == [
        ("t", ErrorCode.NONE),
        ("s", ErrorCode.INVALID_REQUEST),
        ("gone", ErrorCode.UNKNOWN_SERVER_ERROR),
    ]


def test_the_brokers_own_share_entries_are_replaced_by_ours() -> None:
    # Given
    request = DescribeConfigsRequest([DescribeConfigsResource(GROUP, "g", None)])
    local = DescribeConfigsResponse(results=[described(GROUP, "g", SHARE)])
    upstream = DescribeConfigsResponse(
        throttle_time_ms=3, results=[described(GROUP, "g", OTHER, SHARE, "share.isolation.level")]
    )

    # When
    merged = merge_describe(request, local, upstream)

    # Then
    assert merged == DescribeConfigsResponse(
        throttle_time_ms=3, results=[described(GROUP, "g", OTHER, SHARE)]
    )


def test_described_resources_stand_in_the_order_of_the_request() -> None:
    # Given
    request = DescribeConfigsRequest(
        [
            DescribeConfigsResource(GROUP, "g", [SHARE]),
            DescribeConfigsResource(TOPIC, "t", None),
            DescribeConfigsResource(GROUP, "h", [OTHER]),
        ]
    )
    local = DescribeConfigsResponse(results=[described(GROUP, "g", SHARE)])
    upstream = DescribeConfigsResponse(
        results=[described(GROUP, "h", OTHER), described(TOPIC, "t", "share.a")]
    )

    # When
    merged = merge_describe(request, local, upstream)

    # Then
    assert merged.results == [
        described(GROUP, "g", SHARE),
        described(TOPIC, "t", "share.a"),
        described(GROUP, "h", OTHER),
    ]


def test_a_broker_that_does_not_know_groups_leaves_ours_alone() -> None:
    # Given
    request = DescribeConfigsRequest([DescribeConfigsResource(GROUP, "g", None)])
    local = DescribeConfigsResponse(results=[described(GROUP, "g", SHARE)])

    # When
    merged = [
        merge_describe(
            request, local, DescribeConfigsResponse(results=[described(GROUP, "g", error_code=error_code)])
        )
        for error_code in (ErrorCode.INVALID_REQUEST, ErrorCode.UNSUPPORTED_VERSION)
    ]

    # Then
    assert [answer.results for answer in merged] == [[described(GROUP, "g", SHARE)]] * 2


def test_any_other_error_of_the_broker_is_told() -> None:
    # Given
    request = DescribeConfigsRequest([DescribeConfigsResource(GROUP, "g", None)])
    local = DescribeConfigsResponse(results=[described(GROUP, "g", SHARE)])
    refused = described(GROUP, "g", error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)

    # When
    merged = merge_describe(request, local, DescribeConfigsResponse(results=[refused]))

    # Then
    assert merged.results == [refused]


def test_our_own_error_is_told_before_the_brokers_entries() -> None:
    # Given
    request = DescribeConfigsRequest([DescribeConfigsResource(GROUP, "", None)])
    refused = described(GROUP, "", error_code=ErrorCode.INVALID_REQUEST)
    theirs = DescribeConfigsResponse(results=[described(GROUP, "", OTHER)])

    # When
    merged = merge_describe(request, DescribeConfigsResponse(results=[refused]), theirs)

    # Then
    assert merged.results == [refused]


def test_a_described_resource_that_nobody_answered_is_in_error() -> None:
    # Given
    request = DescribeConfigsRequest([DescribeConfigsResource(GROUP, "g", [SHARE])])

    # When
    merged = merge_describe(request, DescribeConfigsResponse(), None)

    # Then
    assert [result.error_code for result in merged.results] == [ErrorCode.UNKNOWN_SERVER_ERROR]


def test_beside_groups_no_more_others_are_described_than_can_be_merged_at_once() -> None:
    """A broker answers some kilobytes for each, however often it is named; nobody has a turn while they are read."""
    # Given
    group = DescribeConfigsResource(GROUP, "g", None)
    topics = [DescribeConfigsResource(TOPIC, "t", None)] * (MOST_BESIDE_GROUPS + 2)
    request = DescribeConfigsRequest([*topics, group])
    halves = split_describe(request)
    assert halves.upstream is not None

    # When
    merged = merge_describe(
        request,
        DescribeConfigsResponse(results=[described(GROUP, "g")]),
        DescribeConfigsResponse(
            results=[described(each.resource_type, each.resource_name) for each in halves.upstream.resources]
        ),
    )

    # Then
    assert halves.upstream.resources == [*topics[:MOST_BESIDE_GROUPS], group]
    assert [result.error_code for result in merged.results] == [
        *[ErrorCode.NONE] * MOST_BESIDE_GROUPS,
        *[ErrorCode.INVALID_REQUEST] * 2,
        ErrorCode.NONE,
    ]
    assert merged.results[-2].error_message == (
        f"beside groups, {MOST_BESIDE_GROUPS} other resources at most are described in one request: ask for the others "
        "in requests without groups"
    )
