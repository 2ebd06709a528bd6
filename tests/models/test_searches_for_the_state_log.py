"""The search for the state log ends when it is found, whatever goes wrong on the way."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.net.state_log import service as state_log_service
from kproxy.net.state_log.state_topics import SlotTopics, StateTopics
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.state_log_process import Process
from tests.worlds.state_logs import StateLogBacking, alarms, create_state_topics, groups_log
from tests.worlds.waiting import until


async def test_a_leader_that_calls_the_facts_corrupt_is_told_and_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(state_log_service, "GRACE_SECONDS", 0)

    async with ScriptedStateLog() as cluster:
        # Given
        create_state_topics(cluster)
        async with StateLogBacking(cluster) as backing:
            await Process(backing).serves()
        cluster.refuse_reads(groups_log(), ErrorCode.CORRUPT_MESSAGE)
        async with StateLogBacking(cluster) as backing:
            process = Process(backing)
            process.service.start()
            await until(lambda: "CORRUPT_MESSAGE" in process.service.problem)

            # When
            cluster.refuse_reads(groups_log(), ErrorCode.NONE)
            await process.serves()

            # Then
            assert process.service.problem == ""


async def test_a_search_that_fails_for_a_fault_of_kproxy_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        faults = [ZeroDivisionError("a fault")]
        ensure = StateTopics.ensure

        async def ensure_once_with_a_fault(self: StateTopics) -> SlotTopics:
            if faults:
                raise faults.pop()
            return await ensure(self)

        monkeypatch.setattr(StateTopics, "ensure", ensure_once_with_a_fault)

        # When
        process = await Process(backing).serves()

        # Then
        assert process.service.problem == ""
        assert "state_log_search_failed" in [line.msg for line in alarms(caplog)]
