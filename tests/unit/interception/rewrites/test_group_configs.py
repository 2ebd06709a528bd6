"""Which half of a request about configurations is kproxy's, and how two answers become one."""

from hypothesis import given
from hypothesis import strategies as st

from kproxy.error_codes import ErrorCode
from kproxy.interception.rewrites.group_configs import (
    merge_alter,
    merge_describe,
    split_alter,
    split_describe,
)
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kproxy.wire.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)

TOPIC, GROUP = 2, 32
SHARE, OTHER = "share.auto.offset.reset", "consumer.session.timeout.ms"


def altered(resource_type: int, name: str, *keys: str) -> AlterConfigsResource:
    return AlterConfigsResource(resource_type, name, [AlterableConfig(key, 0, "1") for key in keys])


def alter_result(resource_type: int, name: str, error_code: int = 0) -> AlterConfigsResourceResponse:
    message = "no" if error_code else None
    return AlterConfigsResourceResponse(error_code, message, resource_type, name)


def described(resource_type: int, name: str, *keys: str, error_code: int = 0) -> DescribeConfigsResult:
    entries = [DescribeConfigsResourceResult(name=key, value="1") for key in keys]
    return DescribeConfigsResult(error_code, None, resource_type, name, entries)


# ---- altering


def test_dead_letter_keys_of_groups_never_reach_the_broker_either() -> None:
    # Given
    resource = altered(GROUP, "g", "errors.deadletterqueue.topic.name")

    # When
    split = split_alter(IncrementalAlterConfigsRequest([resource]))

    # Then
    assert (split.local, split.upstream) == (IncrementalAlterConfigsRequest([resource]), None)


def test_share_keys_of_groups_are_ours_and_all_else_is_the_brokers() -> None:
    # Given
    request = IncrementalAlterConfigsRequest(
        [altered(TOPIC, "t", "retention.ms"), altered(GROUP, "g", SHARE, OTHER), altered(GROUP, "h", OTHER)],
        validate_only=True,
    )

    # When
    split = split_alter(request)

    # Then
    assert split.local == IncrementalAlterConfigsRequest([altered(GROUP, "g", SHARE)], validate_only=True)
    assert split.upstream == IncrementalAlterConfigsRequest(
        [altered(TOPIC, "t", "retention.ms"), altered(GROUP, "g", OTHER), altered(GROUP, "h", OTHER)],
        validate_only=True,
    )


def test_a_topic_key_that_begins_like_ours_is_the_brokers() -> None:
    # When
    split = split_alter(IncrementalAlterConfigsRequest([altered(TOPIC, "t", SHARE)]))

    # Then
    assert split.local is None
    assert split.upstream is not None


def test_when_nothing_remains_the_broker_is_not_asked() -> None:
    # When
    split = split_alter(IncrementalAlterConfigsRequest([altered(GROUP, "g", SHARE), altered(GROUP, "h")]))

    # Then
    assert split.upstream is None
    assert split.local is not None
    assert [resource.resource_name for resource in split.local.resources] == ["g", "h"]


def test_a_group_that_stands_twice_is_refused_as_a_whole_and_so_is_ours() -> None:
    # Given
    twice = [altered(GROUP, "g", OTHER), altered(GROUP, "g", SHARE)]

    # When
    split = split_alter(IncrementalAlterConfigsRequest(twice))

    # Then
    assert split.local == IncrementalAlterConfigsRequest(twice)
    assert split.upstream is None


def test_a_group_that_stands_twice_without_our_keys_is_the_brokers_to_refuse() -> None:
    # Given
    twice = [altered(GROUP, "g", OTHER), altered(GROUP, "g", OTHER)]

    # When
    split = split_alter(IncrementalAlterConfigsRequest(twice))

    # Then
    assert split.local is None
    assert split.upstream == IncrementalAlterConfigsRequest(twice)


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


# ---- describing


def test_a_group_without_a_list_of_keys_is_asked_of_both() -> None:
    # Given
    resources = [
        DescribeConfigsResource(GROUP, "g", None),
        DescribeConfigsResource(GROUP, "h", []),
        DescribeConfigsResource(GROUP, "i", [SHARE]),
        DescribeConfigsResource(GROUP, "j", [OTHER, SHARE]),
        DescribeConfigsResource(TOPIC, "t", None),
    ]
    request = DescribeConfigsRequest(resources, include_synonyms=True, include_documentation=True)

    # When
    split = split_describe(request)

    # Then
    assert split.local == DescribeConfigsRequest(
        [
            DescribeConfigsResource(GROUP, "g", None),
            DescribeConfigsResource(GROUP, "h", []),
            DescribeConfigsResource(GROUP, "i", [SHARE]),
            DescribeConfigsResource(GROUP, "j", [SHARE]),
        ],
        include_synonyms=True,
        include_documentation=True,
    )
    assert split.upstream == DescribeConfigsRequest(
        [
            DescribeConfigsResource(GROUP, "g", None),
            DescribeConfigsResource(GROUP, "h", []),
            DescribeConfigsResource(GROUP, "j", [OTHER]),
            DescribeConfigsResource(TOPIC, "t", None),
        ],
        include_synonyms=True,
        include_documentation=True,
    )


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


resources = st.builds(
    altered,
    st.sampled_from([TOPIC, GROUP]),
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from([SHARE, OTHER, "share.x"]),
    st.sampled_from([SHARE, OTHER, "share.x"]),
)


@given(st.lists(resources, max_size=6))
def test_no_key_is_lost_or_served_twice_and_every_resource_is_answered_once(
    asked: list[AlterConfigsResource],
) -> None:
    # Given
    request = IncrementalAlterConfigsRequest(asked)

    # When
    split = split_alter(request)
    halves = [half.resources if half is not None else [] for half in (split.local, split.upstream)]
    answers = [
        IncrementalAlterConfigsResponse(
            responses=[alter_result(one.resource_type, one.resource_name) for one in half]
        )
        for half in halves
    ]
    merged = merge_alter(request, *answers)

    # Then
    def keys(listed: list[AlterConfigsResource]) -> list[tuple[int, str, str]]:
        return sorted(
            (one.resource_type, one.resource_name, key.name) for one in listed for key in one.configs
        )

    assert sorted(keys(halves[0]) + keys(halves[1])) == keys(asked)
    assert [(one.resource_type, one.resource_name) for one in merged.responses[: len(asked)]] == [
        (one.resource_type, one.resource_name) for one in asked
    ]
    assert all(one.error_code == ErrorCode.NONE for one in merged.responses)
