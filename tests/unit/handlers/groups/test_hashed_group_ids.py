"""The group ids of one request, of which each may be 32 kB long, are not hashed in one turn of the event loop."""

import asyncio
from collections import Counter

import pytest

from kproxy.statelog import partitioning
from kproxy.statelog.partitioning import group_partition
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.describe_share_group_offsets_request import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from tests.worlds.group_coordinators import coordinate_groups_at
from tests.worlds.share_group_world import ShareGroupWorld


def group_ids_of(api_key: ApiKey) -> list[str]:
    """Return ids that no other test has."""
    return [f"hashed for {api_key.name} {number:02} ".ljust(32_000, "x") for number in range(25)]


def request_of(api_key: ApiKey, group_ids: list[str]) -> Message:
    if api_key is ApiKey.DELETE_GROUPS:
        return DeleteGroupsRequest(group_ids)
    if api_key is ApiKey.SHARE_GROUP_DESCRIBE:
        return ShareGroupDescribeRequest(group_ids)
    groups = [DescribeShareGroupOffsetsRequestGroup(group_id, None) for group_id in group_ids]
    return DescribeShareGroupOffsetsRequest(groups)


@pytest.mark.parametrize(
    ("api_key", "version"),
    [
        (ApiKey.DELETE_GROUPS, 2),
        (ApiKey.SHARE_GROUP_DESCRIBE, 1),
        (ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 1),
    ],
)
async def test_others_have_turns_while_the_long_ids_of_a_request_are_hashed(
    api_key: ApiKey, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    world = ShareGroupWorld()
    coordinate_groups_at(world, 1)
    monkeypatch.setattr(world.group_log, "require_ready", lambda group_id: group_partition(group_id, 50))
    plain_hash, turn, hashed_in = partitioning._hash, 0, Counter[int]()

    def counted_hash(text: str) -> int:
        hashed_in[turn] += 1
        return plain_hash(text)

    monkeypatch.setattr(partitioning, "_hash", counted_hash)

    async def count_turns() -> None:
        nonlocal turn
        while True:
            await asyncio.sleep(0)
            turn += 1

    group_ids = group_ids_of(api_key)

    # When
    async with asyncio.TaskGroup() as tasks:
        counting = tasks.create_task(count_turns())
        await world.serve(request_of(api_key, group_ids), api_key, version)
        counting.cancel()

    # Then
    assert hashed_in.total() == len(group_ids)
    assert max(hashed_in.values()) <= 3
