"""One list of resources that have configurations: kproxy's groups, and what the broker lists."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.interception.listed_resources import (
    client_metrics_of,
    merge_resources,
    wants_groups,
)
from kproxy.wire.messages.list_config_resources_request import ListConfigResourcesRequest
from kproxy.wire.messages.list_config_resources_response import ConfigResource, ListConfigResourcesResponse

TOPIC, METRICS, GROUP = 2, 16, 32
LOADING, UNSUPPORTED = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.UNSUPPORTED_VERSION


def asking_for(*types: int) -> ListConfigResourcesRequest:
    return ListConfigResourcesRequest(list(types))


def listing(*resources: tuple[str, int]) -> ListConfigResourcesResponse:
    return ListConfigResourcesResponse(config_resources=[ConfigResource(*resource) for resource in resources])


@pytest.mark.parametrize(
    ("types", "are_wanted"), [([], True), ([GROUP], True), ([TOPIC, GROUP], True), ([TOPIC], False)]
)
def test_groups_are_wanted_unless_only_others_are(types: list[int], *, are_wanted: bool) -> None:
    assert wants_groups(asking_for(*types)) is are_wanted


def test_what_is_not_about_groups_is_the_brokers() -> None:
    upstream = listing(("orders", TOPIC))

    assert merge_resources(asking_for(TOPIC), None, upstream) == upstream


def test_a_group_with_keys_of_both_is_listed_once_and_a_topic_of_its_name_as_well() -> None:
    upstream = listing(("g", GROUP), ("plain", GROUP), ("g", TOPIC))
    upstream.throttle_time_ms = 5

    merged = merge_resources(asking_for(), listing(("g", GROUP), ("share", GROUP)), upstream)

    assert (
        merged.config_resources
        == listing(("g", GROUP), ("share", GROUP), ("plain", GROUP), ("g", TOPIC)).config_resources
    )
    assert merged.throttle_time_ms == 5


def test_an_error_of_the_broker_is_that_of_the_list() -> None:
    refused = ListConfigResourcesResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)

    assert merge_resources(asking_for(GROUP), listing(("g", GROUP)), refused) == refused


def test_where_groups_cannot_be_told_there_is_no_list() -> None:
    local = ListConfigResourcesResponse(error_code=LOADING)

    assert merge_resources(asking_for(), local, None) == local


@pytest.mark.parametrize("types", [[], [GROUP], [GROUP, GROUP]])
def test_groups_are_listed_where_the_broker_lists_nothing(types: list[int]) -> None:
    ours = listing(("g", GROUP))

    assert merge_resources(asking_for(*types), ours, None) == ours


@pytest.mark.parametrize("types", [[TOPIC], [METRICS], [GROUP, TOPIC]])
def test_other_types_are_refused_where_the_broker_lists_nothing(types: list[int]) -> None:
    local = listing(("g", GROUP)) if GROUP in types else None

    assert merge_resources(asking_for(*types), local, None) == ListConfigResourcesResponse(
        error_code=UNSUPPORTED
    )


@pytest.mark.parametrize("types", [[], [METRICS], [METRICS, GROUP]])
def test_a_broker_of_version_0_tells_its_client_metrics(types: list[int]) -> None:
    metrics = listing(("latencies", METRICS))

    assert client_metrics_of(asking_for(*types), metrics) == metrics


def test_client_metrics_that_nobody_asked_for_are_left_out() -> None:
    assert client_metrics_of(asking_for(GROUP), listing(("latencies", METRICS))) == listing()


@pytest.mark.parametrize("types", [[TOPIC], [GROUP, TOPIC], [METRICS, TOPIC], [77]])
def test_types_that_a_broker_of_version_0_does_not_list_are_refused_as_a_whole(types: list[int]) -> None:
    answer = client_metrics_of(asking_for(*types), listing(("latencies", METRICS)))

    assert answer == ListConfigResourcesResponse(error_code=UNSUPPORTED)


def test_an_error_of_a_broker_of_version_0_is_told_first() -> None:
    refused = ListConfigResourcesResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)

    assert client_metrics_of(asking_for(TOPIC), refused) == refused
