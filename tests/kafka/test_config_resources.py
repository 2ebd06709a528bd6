"""ListConfigResources: which groups are listed as having configurations, beside what the backing cluster lists."""

import time
from collections.abc import Mapping, Sequence
from typing import Final

import pytest

from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.api_versions_response import ApiVersionsResponse
from kproxy.wire.messages.list_config_resources_request import ListConfigResourcesRequest
from kproxy.wire.messages.list_config_resources_response import ListConfigResourcesResponse
from tests.kafka.test_group_configs import DELETE, GROUP, SET, alter
from tests.real_kafka.administration import unique_name
from tests.real_kafka.raw_connection import RawConnection
from tests.real_kafka.share_endpoint import (
    KPROXY_OLDEST,
    KPROXY_REFERENCE,
    KPROXY_WITHOUT_SHARE_GROUPS,
    NATIVE,
    EndpointsOfSession,
    ShareEndpoint,
)

TOPIC: Final = 2
CLIENT_METRICS: Final = 16
NO_SUCH_TYPE: Final = 77
NONE, UNSUPPORTED_VERSION = 0, 35
PATIENCE_SECONDS: Final = 10.0
"""A stock broker hears of a change from its controller, a moment after that was answered."""

Answer = tuple[int, list[tuple[int, str]]]
"""An error code, and type and label of what is listed of ours."""

ALL_TYPES: Final[Sequence[int]] = ()


def listed(endpoint: ShareEndpoint, *questions: Sequence[int]) -> list[Answer]:
    """What is answered when there is a topic, and a group with one key; and at last of groups without that key."""
    group, topic = unique_name("group"), endpoint.new_topic()
    labels = {group: "group", topic: "topic"}
    with RawConnection(endpoint.bootstrap_servers) as connection:
        # What the broker behind it lacks, kproxy hears with this.
        connection.ask(ApiKey.API_VERSIONS, 0, ApiVersionsRequest(), ApiVersionsResponse)
        alter(connection, group, "share.auto.offset.reset", SET, "earliest")
        _wait_for(connection, labels, [(GROUP, "group")])
        answers = [_answer(connection, types, labels) for types in questions]
        alter(connection, group, "share.auto.offset.reset", DELETE, None)
        return [*answers, _wait_for(connection, labels, [])]


def _answer(connection: RawConnection, types: Sequence[int], labels: Mapping[str, str]) -> Answer:
    request = ListConfigResourcesRequest(list(types))
    answer = connection.ask(ApiKey.LIST_CONFIG_RESOURCES, 1, request, ListConfigResourcesResponse)
    named = [(each.resource_type, labels.get(each.resource_name)) for each in answer.config_resources]
    return answer.error_code, sorted((kind, label) for kind, label in named if label is not None)


def _wait_for(
    connection: RawConnection, labels: Mapping[str, str], expected: list[tuple[int, str]]
) -> Answer:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (answer := _answer(connection, [GROUP], labels))[1] != expected:
        assert time.monotonic() < deadline, f"groups are listed as {answer}"
    return answer


def test_groups_and_other_resources_are_listed_as_by_a_stock_broker(
    share_endpoint: EndpointsOfSession,
) -> None:
    questions = (ALL_TYPES, [GROUP], [TOPIC], [GROUP, TOPIC, GROUP], [CLIENT_METRICS], [NO_SUCH_TYPE, GROUP])

    stock, through_kproxy = [
        listed(share_endpoint(behind), *questions) for behind in (NATIVE, KPROXY_REFERENCE)
    ]

    assert through_kproxy == stock
    assert stock[0] == (NONE, [(TOPIC, "topic"), (GROUP, "group")])


@pytest.mark.parametrize(
    ("behind", "of_client_metrics"),
    [(KPROXY_WITHOUT_SHARE_GROUPS, NONE), (KPROXY_OLDEST, UNSUPPORTED_VERSION)],
)
def test_groups_are_listed_in_front_of_brokers_that_list_client_metrics_or_nothing(
    share_endpoint: EndpointsOfSession, behind: str, of_client_metrics: int
) -> None:
    answers = listed(share_endpoint(behind), ALL_TYPES, [GROUP], [CLIENT_METRICS], [TOPIC], [GROUP, TOPIC])

    assert answers == [
        (NONE, [(GROUP, "group")]),
        (NONE, [(GROUP, "group")]),
        (of_client_metrics, []),
        (UNSUPPORTED_VERSION, []),
        (UNSUPPORTED_VERSION, []),
        (NONE, []),
    ]
