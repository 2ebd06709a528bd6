from hypothesis import given
from hypothesis import strategies as st

from kproxy.error_codes import ErrorCode
from kproxy.interception.rewrites.group_config_answers import merge_alter
from kproxy.interception.rewrites.group_config_requests import split_alter
from kproxy.interception.rewrites.shared_apis import SHARED_APIS
from kproxy.interception.routing import GROUP_CONFIG_KEYS, RoutingTable
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.alter_configs_request import AlterConfigsRequest
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
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
    legacy,
)


def test_every_api_that_is_answered_together_can_be_shared() -> None:
    on, off = RoutingTable({ApiKey.SHARE_GROUP_HEARTBEAT: (1, 1)}), RoutingTable({})

    assert {key for key in ApiKey if on.is_shared(key)} == set(SHARED_APIS)
    assert {key for key in ApiKey if off.is_shared(key)} == GROUP_CONFIG_KEYS


def test_what_the_elder_request_sets_of_a_share_group_does_not_go_to_the_broker() -> None:
    # Given
    request = AlterConfigsRequest([legacy(GROUP, "g", SHARE)])

    # When
    halves = SHARED_APIS[ApiKey.ALTER_CONFIGS].split(request)

    # Then
    assert (halves.local, halves.upstream) == (request, None)


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
