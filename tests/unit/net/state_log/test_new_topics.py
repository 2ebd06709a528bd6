"""New topics are used when their partitions have leaders that know it, or when that takes too long."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.net.state_log import new_topics
from kproxy.net.state_log.new_topics import await_leaders
from kproxy.wire.api_keys import ApiKey
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.state_logs import GROUPS_ID, STATE_ID, StateLogBacking, create_state_topics


async def test_topics_whose_partitions_are_all_led_are_looked_at_once() -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        topics = await backing.found()

        # When
        await await_leaders(backing.reader, topics)

        # Then
        assert len(cluster.asked(ApiKey.FETCH)) == 1


async def test_a_partition_that_is_not_led_yet_is_waited_for() -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        topics = await backing.found()
        cluster.refuse(GROUPS_ID, 1, ErrorCode.NOT_LEADER_OR_FOLLOWER)

        # When
        waiting = backing.tasks.spawn(await_leaders(backing.reader, topics), name="a wait")
        await cluster.brokers[1].until_asked(ApiKey.FETCH, 4)
        was_done = waiting.done()
        cluster.refuse(GROUPS_ID, 1, ErrorCode.NONE)
        await waiting

        # Then
        assert not was_done


async def test_a_partition_that_nobody_leads_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(new_topics, "MOST_LOOKS", 2)

    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        topics = await backing.found()
        cluster.refuse(STATE_ID, 0, ErrorCode.NOT_LEADER_OR_FOLLOWER)

        # When
        await await_leaders(backing.reader, topics)

        # Then
        assert len(cluster.asked(ApiKey.FETCH)) == 4, "each look is taken twice where leaders are in doubt"
