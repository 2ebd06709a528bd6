"""Which half of a request about configurations is kproxy's."""

from kproxy.interception.rewrites.group_config_requests import (
    names_a_group,
    split_alter,
    split_describe,
    split_legacy_alter,
)
from kproxy.wire.messages.alter_configs_request import AlterConfigsRequest
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.incremental_alter_configs_request import (
    IncrementalAlterConfigsRequest,
)
from tests.worlds.group_config_messages import (
    GROUP,
    OTHER,
    SHARE,
    TOPIC,
    altered,
    legacy,
)


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


def test_a_group_with_a_key_of_share_groups_is_ours_and_all_else_is_the_brokers() -> None:
    # Given
    topic, consumers = legacy(TOPIC, "t", "share.name"), legacy(GROUP, "c", "consumer.session.timeout.ms")
    sharing = legacy(GROUP, "s", "consumer.session.timeout.ms", "share.auto.offset.reset")
    with_dead_letters = legacy(GROUP, "d", "errors.deadletterqueue.topic.name")

    # When
    split = split_legacy_alter(AlterConfigsRequest([topic, sharing, consumers, with_dead_letters]))

    # Then
    assert split.local == AlterConfigsRequest([sharing, with_dead_letters])
    assert split.upstream == AlterConfigsRequest([topic, consumers])


def test_a_request_without_share_groups_goes_to_the_broker_as_it_is() -> None:
    # Given
    request = AlterConfigsRequest([legacy(TOPIC, "t", "retention.ms")], validate_only=True)

    # When
    split = split_legacy_alter(request)

    # Then
    assert (split.local, split.upstream) == (None, request)


def test_a_group_that_stands_twice_in_an_elder_request_is_ours_as_a_whole_too() -> None:
    # Given
    twice = [legacy(GROUP, "g", OTHER), legacy(GROUP, "g", SHARE)]

    # When
    split = split_legacy_alter(AlterConfigsRequest(twice))

    # Then
    assert (split.local, split.upstream) == (AlterConfigsRequest(twice), None)


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


def test_a_request_about_topics_names_no_group() -> None:
    # Given
    resources = [DescribeConfigsResource(TOPIC, "t", None), DescribeConfigsResource(GROUP, "g", None)]

    # When
    named = [names_a_group(DescribeConfigsRequest(some)) for some in (resources[:1], resources)]

    # Then
    assert named == [False, True]
