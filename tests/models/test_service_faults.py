"""Faults of kproxy itself where nobody else would find the state log, or look after it."""

from collections.abc import Collection, Mapping

import pytest

from kproxy.errors import BrokerUnavailable
from kproxy.handlers.ports import TopicDescription
from kproxy.net.state_log import service as state_log_service
from kproxy.share.identifiers import TopicId
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.state_log_process import Process
from tests.worlds.state_logs import GROUPS_ID, SLOT_COUNT, STATE, StateLogBacking, alarms
from tests.worlds.waiting import until


@pytest.mark.parametrize("step", ["LostStates", "SignsOfLife", "StateUpkeep"])
async def test_a_fault_before_or_while_slots_are_opened_is_told_as_the_reason_and_tried_again(
    step: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, backing: StateLogBacking
) -> None:
    # Given
    def faulty(*_: object, **__: object) -> None:
        raise RuntimeError("a fault of kproxy itself")

    monkeypatch.setattr(state_log_service, step, faulty)
    process = Process(backing)
    process.service.start()
    await process.service.first_word(10)
    told = process.service.problem

    # When
    monkeypatch.undo()
    await process.serves()

    # Then
    assert told == "RuntimeError in kproxy itself"
    assert process.service.problem == ""
    assert {record.msg for record in alarms(caplog)} == {"state_log_service_failed"}


async def test_a_fault_in_the_watch_of_the_topics_does_not_end_it(
    monkeypatch: pytest.MonkeyPatch, cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    monkeypatch.setattr(state_log_service, "TOPIC_WATCH_SECONDS", 0.01)

    # Given
    process = await Process(backing).serves()
    before, honest = process.service.slots, backing.metadata.topics_named
    faults: list[Exception] = []

    async def faulty(names: Collection[str]) -> Mapping[str, TopicDescription]:
        if not faults:
            faults.append(RuntimeError("a fault of kproxy itself"))
            raise faults[0]
        return await honest(names)

    monkeypatch.setattr(backing.metadata, "topics_named", faulty)
    await until(lambda: len(faults) > 0)

    # When
    cluster.create_topic(STATE, TopicId(b"another-topic-id"), partition_count=SLOT_COUNT)
    await backing.metadata.refresh()

    # Then
    await until(lambda: process.service.slots not in {None, before})


async def test_a_topic_created_anew_is_noticed_while_nobody_can_be_asked_who_leads_its_partitions(
    monkeypatch: pytest.MonkeyPatch, cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    monkeypatch.setattr(state_log_service, "TOPIC_WATCH_SECONDS", 0.01)

    # Given
    process = await Process(backing).serves()
    before = process.service.slots

    async def unavailable(_: Mapping[TopicId, str]) -> Collection[TopicId]:
        raise BrokerUnavailable("nobody answers")

    monkeypatch.setattr(backing.metadata, "missing_topics", unavailable)
    cluster.lead(GROUPS_ID, 0, -1)
    await backing.metadata.refresh()

    # When
    cluster.create_topic(STATE, TopicId(b"another-topic-id"), partition_count=SLOT_COUNT)
    await backing.metadata.refresh()

    # Then
    await until(lambda: process.service.slots is not before)


async def test_a_fault_of_who_is_told_of_changes_does_not_end_the_watch_of_the_topics(
    monkeypatch: pytest.MonkeyPatch, cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    monkeypatch.setattr(state_log_service, "TOPIC_WATCH_SECONDS", 0.01)

    # Given
    process = Process(backing)

    def faulty() -> None:
        raise RuntimeError("a fault of kproxy itself")

    monkeypatch.setattr(process.service, "_on_change", faulty)
    before = (await process.serves()).service.slots

    # When
    cluster.create_topic(STATE, TopicId(b"another-topic-id"), partition_count=SLOT_COUNT)
    await backing.metadata.refresh()

    # Then
    await until(lambda: process.service.slots not in {None, before})
