"""What the words of an error may be: whatever a client sent, they can be answered."""

import pytest

from kproxy.errors import GroupIdNotFound
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.alter_configs_request import AlterableConfig as ReplacedConfig
from kproxy.wire.messages.alter_configs_request import AlterConfigsRequest
from kproxy.wire.messages.alter_configs_request import AlterConfigsResource as ReplacedResource
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from tests.worlds.share_group_world import ShareGroupWorld

GROUP_TYPE = 32
LONGEST_ID = "g" * 32_767
REQUESTS: list[tuple[int, int, Message]] = [
    (ApiKey.SHARE_GROUP_DESCRIBE, 1, ShareGroupDescribeRequest(group_ids=[LONGEST_ID])),
    (
        ApiKey.SHARE_GROUP_HEARTBEAT,
        1,
        ShareGroupHeartbeatRequest(group_id=LONGEST_ID, member_id="alice", member_epoch=5),
    ),
    (
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        0,
        IncrementalAlterConfigsRequest(
            resources=[
                AlterConfigsResource(
                    GROUP_TYPE,
                    "g",
                    [AlterableConfig(f"share.{number:050}", 0, None) for number in range(1_000)],
                )
            ]
        ),
    ),
    (
        ApiKey.ALTER_CONFIGS,
        1,
        AlterConfigsRequest(
            resources=[ReplacedResource(GROUP_TYPE, LONGEST_ID, [ReplacedConfig("share.record", "1")])]
        ),
    ),
]


@pytest.mark.parametrize(
    ("api_key", "version", "request_"), REQUESTS, ids=[ApiKey(key).name for key, _, _ in REQUESTS]
)
async def test_a_refusal_that_names_something_very_long_can_be_answered(
    api_key: int, version: int, request_: Message
) -> None:
    # When
    answer = await ShareGroupWorld().serve(request_, api_key, version)

    # Then
    assert sum(map(len, codecs.encode_response(api_key, version, 1, answer))) < 50_000


def test_an_error_is_told_as_it_is_and_what_is_very_long_is_cut() -> None:
    assert str(GroupIdNotFound("Group g not found.")) == "Group g not found."
    assert str(GroupIdNotFound("x" * 8_000)) == "x" * 8_000
    assert str(GroupIdNotFound("x" * 8_001)) == "x" * 7_999 + "…"
