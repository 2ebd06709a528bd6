"""Share groups are on, off, or not yet: as the brokers' word on share groups of their own has it."""

import asyncio
import logging

import pytest

from kproxy.admin.views import ShareGroupsState
from kproxy.error_codes import ErrorCode
from kproxy.handlers.readiness import StateNeed
from kproxy.settings import ShareUpstream
from kproxy.wire.api_keys import ApiKey
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.running_proxy import RunningProxy
from tests.worlds.waiting import until

ODD, ABSENT, SERVED = (
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.GROUP_ID_NOT_FOUND,
)
SHARE_APIS = {
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.SHARE_GROUP_DESCRIBE,
    ApiKey.SHARE_FETCH,
    ApiKey.SHARE_ACKNOWLEDGE,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS,
}


async def test_one_odd_answer_at_the_start_is_followed_by_another_question() -> None:
    async with ScriptedStateLog() as cluster, RunningProxy(cluster, ODD, ODD, ODD, ABSENT) as running:
        await until(lambda: running.is_started and running.failed_checks == {})

        assert running.share_groups.state is ShareGroupsState.ON
        assert running.advertised == SHARE_APIS


async def test_while_nobody_says_what_the_cluster_serves_share_groups_are_advertised_and_kproxy_is_not_ready() -> (
    None
):
    async with ScriptedStateLog() as cluster, RunningProxy(cluster, ODD) as running:
        # When
        await until(lambda: running.has_open_ports and running.probe_count > 2)

        # Then
        assert running.advertised == SHARE_APIS
        assert running.share_groups.state is ShareGroupsState.UNAVAILABLE
        assert "whether the backing cluster serves share groups itself" in running.share_groups.reason
        assert "answered ShareGroupDescribe with UNKNOWN_SERVER_ERROR (-1)" in running.share_groups.reason
        assert set(running.failed_checks) == {"state_log"}


async def test_one_odd_answer_takes_nothing_from_a_kproxy_that_serves() -> None:
    async with ScriptedStateLog() as cluster, RunningProxy(cluster, ABSENT) as running:
        # Given
        await until(lambda: running.is_started and running.failed_checks == {})
        running.said[:] = [ODD]
        probe_count = running.probe_count

        # When
        await running.refresh()
        await until(lambda: running.probe_count > probe_count and not running.proxy._support._is_looking)

        # Then
        assert running.advertised == SHARE_APIS
        assert running.share_groups.state is ShareGroupsState.ON
        assert running.failed_checks == {}


async def test_the_cluster_is_asked_again_by_a_round_that_ends_before_kproxy_has_started() -> None:
    async with ScriptedStateLog() as cluster, RunningProxy(cluster, ABSENT) as running:
        await until(lambda: running.probe_count > 0)

        assert running.proxy._support.look in running.proxy._metadata.on_refreshed


async def test_share_groups_are_off_and_kproxy_is_ready_where_the_cluster_serves_them_itself() -> None:
    async with ScriptedStateLog() as cluster, RunningProxy(cluster, ODD, SERVED) as running:
        await until(lambda: running.is_started)

        assert running.share_groups.state is ShareGroupsState.OFF
        assert "serves share groups itself" in running.share_groups.reason
        assert running.advertised == set()
        assert running.failed_checks == {}


async def test_requests_that_wait_are_told_at_once_that_the_cluster_serves_share_groups_itself() -> None:
    async with ScriptedStateLog() as cluster, RunningProxy(cluster, ODD) as running:
        # Given
        readiness = running.proxy._share.state_log.readiness
        waiting = asyncio.get_running_loop().create_task(readiness.wait(StateNeed(("workers",)), 1))
        await until(lambda: readiness.waiting_count == 1)

        # When
        running.said[:] = [SERVED]

        # Then
        assert await waiting < 5_000
        assert running.share_groups.state is ShareGroupsState.OFF


async def test_a_kproxy_told_to_shadow_does_not_wait_for_the_cluster_s_word() -> None:
    async with (
        ScriptedStateLog() as cluster,
        RunningProxy(cluster, ODD, upstream=ShareUpstream.SHADOW) as running,
    ):
        await until(lambda: running.advertised == SHARE_APIS and running.failed_checks == {})

        assert running.share_groups.state is ShareGroupsState.ON


async def test_share_groups_that_are_switched_off_are_advertised_and_the_state_log_is_left_alone() -> None:
    async with ScriptedStateLog() as cluster, RunningProxy(cluster, ABSENT, is_enabled=False) as running:
        await until(lambda: running.is_started and running.failed_checks == {})

        assert running.share_groups.state is ShareGroupsState.OFF
        assert running.share_groups.reason == "share groups are switched off: kproxy.share.enable=false"
        assert running.advertised == SHARE_APIS
        assert cluster.produced() == []
        assert not running.proxy._routes.is_feature_on


async def test_switched_off_kproxy_leaves_a_cluster_its_own_share_groups() -> None:
    async with ScriptedStateLog() as cluster, RunningProxy(cluster, SERVED, is_enabled=False) as running:
        await until(lambda: running.is_started)

        assert "serves share groups itself" in running.share_groups.reason
        assert running.advertised == set()


async def test_the_log_says_that_share_groups_are_on_when_they_are_and_not_before(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    # Given
    caplog.set_level(logging.INFO)

    # When
    async with ScriptedStateLog() as cluster, RunningProxy(cluster, ABSENT) as running:
        await until(lambda: running.is_started and running.failed_checks == {})

    # Then
    told = [
        (record.msg, vars(record)["event_keys"])
        for record in caplog.records
        if record.msg in {"share_groups", "listening", "ready"}
    ]
    words = [(event, keys.get("state") or keys["share_groups"].partition(" (")[0]) for event, keys in told]
    assert words == [
        ("share_groups", "unavailable"),
        ("share_groups", "unavailable"),
        ("listening", "not yet"),
        ("share_groups", "on"),
        ("ready", "on"),
    ]
    assert told[1][1]["reason"].startswith("not ready: 2 of 2 slots")
    assert "share groups not yet (waits for 2 of 2 slots; slot 0: " in capsys.readouterr().out
