"""The state log as one thing: found or created, served as far as the fleet says, and drained at the end."""

from collections.abc import Collection, Mapping

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import CoordinatorLoadInProgress, CoordinatorNotAvailable
from kproxy.handlers.ports import TopicDescription
from kproxy.net.state_log import service as state_log_service
from kproxy.net.state_log.slots import StateSlots
from kproxy.share.heartbeat import PartitionInitialization
from kproxy.share.identifiers import LeaderEpoch, StateEpoch, TopicId
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch, StateDelta
from kproxy.statelog.group_records import StateTopicFacts, decode_group_record, encode_group_record
from kproxy.wire.api_keys import ApiKey
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.state_log_process import HERE, THERE, Process
from tests.worlds.state_logs import (
    GROUPS,
    GROUPS_ID,
    SLOT_COUNT,
    STATE,
    STATE_ID,
    StateLogBacking,
    alarms,
    create_state_topics,
    groups_log,
    state_log,
)
from tests.worlds.waiting import until

# ---------------------------------------------------- from nothing to serving


async def test_a_cluster_without_the_topics_gets_them_and_serves() -> None:
    async with ScriptedStateLog((1, 2)) as cluster, StateLogBacking(cluster) as backing:
        # Given
        process = Process(backing)
        before = process.service.problem

        # When
        await process.serves()

        # Then
        assert before == "the state topics were not looked for yet"
        assert process.service.problem == ""
        assert sorted(cluster.configs) == [GROUPS, STATE]
        assert sorted(backing.listener.events) == ["loaded 0", "loaded 1"]
        assert process.changes == 1


async def test_what_one_process_made_durable_is_what_the_next_one_finds() -> None:
    async with ScriptedStateLog() as cluster:
        # Given
        async with StateLogBacking(cluster) as backing:
            process = await Process(backing).serves()
            wanted = [PartitionInitialization(HERE, StateEpoch(0), 0)]
            await process.service.states.initialize(wanted)
            assert await process.acknowledge(HERE, 7) is None

        # When
        async with StateLogBacking(cluster) as backing:
            process = await Process(backing).serves()
            state = await process.service.states.load(HERE)

        # Then
        assert state is not None
        assert (state.leader_epoch, state.state_batches) == (
            1,
            (StateBatch(7, 7, RecordState.ACKNOWLEDGED, 1),),
        )


async def test_starting_twice_is_starting_once() -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        process = await Process(backing).serves()

        # When
        process.service.start()
        await process.service.drain(1)

        # Then
        assert cluster.producer_epoch(f"{STATE}-0") == 0


async def test_topics_that_must_not_be_used_are_told_and_looked_at_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(state_log_service, "UNUSABLE_RETRY_SECONDS", 0.01)

    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster)
        cluster.configs[STATE]["retention.ms"] = "1000"
        process = Process(backing)
        process.service.start()
        await process.service.first_word(10)
        told = process.service.problem
        await until(lambda: len(cluster.asked(ApiKey.DESCRIBE_CONFIGS)) >= 3)

        # When
        cluster.configs[STATE]["retention.ms"] = "-1"
        await process.serves()

        # Then
        assert f"topic {STATE} has retention.ms=1000" in told
        assert process.changes == 2
    lines = [record.msg for record in caplog.records if record.levelname == "ERROR"]
    assert lines == ["state_log_unavailable"]


async def test_while_there_are_no_topics_everything_is_refused_with_the_reason() -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        cluster.creation_error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        process = Process(backing)

        # When
        process.service.start()
        await process.service.first_word(10)

        # Then
        with pytest.raises(CoordinatorNotAvailable, match=f"kproxy may not create topic {STATE}"):
            process.service.groups.require_ready("workers")
        await process.service.drain(1)
        assert process.service.slots is None


async def test_a_cluster_that_does_not_answer_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_log_service, "GRACE_SECONDS", 0)

    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        await cluster.brokers[1].stop()
        process = Process(backing)
        process.service.start()
        await process.service.first_word(10)
        told = process.service.problem

        # When
        await cluster.brokers[1].start()
        await process.serves()

        # Then
        assert told
        assert process.service.problem == ""


async def test_new_topics_whose_leaders_need_a_moment_are_waited_for_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster)
        cluster.refuse_reads(groups_log(), ErrorCode.NOT_LEADER_OR_FOLLOWER)
        process = Process(backing)
        process.service.start()
        await until(lambda: len(cluster.asked(ApiKey.FETCH)) >= 3)

        # When
        cluster.refuse_reads(groups_log(), ErrorCode.NONE)
        await process.serves()

        # Then
        assert process.changes == 1
    assert alarms(caplog) == []


async def test_topics_that_were_just_created_are_not_looked_into() -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # When
        await Process(backing).serves()

        # Then
        assert cluster.asked(ApiKey.LIST_OFFSETS) == []


async def test_the_coordinators_that_claims_need_are_looked_for_before_the_fleet_gives_any_slot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        process = Process(backing)
        monkeypatch.setattr(process.fleet, "join", joined_without_slots)

        # When
        process.service.start()

        # Then
        await until(lambda: len(cluster.asked(ApiKey.FIND_COORDINATOR)) == 1)
        assert cluster.asked(ApiKey.INIT_PRODUCER_ID) == []


async def joined_without_slots(slots: StateSlots, slot_count: int) -> None:
    """Join a fleet that gives nothing."""
    assert len(slots) == slot_count


async def test_there_is_a_state_log_also_where_the_fleet_gives_this_process_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        process = Process(backing)
        monkeypatch.setattr(process.fleet, "join", joined_without_slots)

        # When
        process.service.start()
        await process.service.first_word(10)

        # Then
        assert process.service.problem == ""
        assert process.states() == {"unassigned": SLOT_COUNT}
        with pytest.raises(CoordinatorLoadInProgress, match="the fleet did not say yet who owns it"):
            process.service.groups.require_ready("workers")


async def test_the_log_of_another_fleet_is_refused_and_served_from_when_that_has_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(state_log_service, "UNUSABLE_RETRY_SECONDS", 0.01)

    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        there = await Process(backing, "kproxy at host-1", fleet_group="another fleet").serves()
        epoch = cluster.producer_epoch(f"{STATE}-0")
        process = Process(backing, "kproxy at host-2")
        process.service.start()
        await process.service.first_word(10)
        told, hopeless = process.service.problem, process.directory.is_hopeless

        # When
        await there.service.leave()
        await process.serves()

        # Then
        assert "another fleet serves from __kproxy_share_groups: kproxy at host-1" in told
        assert hopeless
        assert cluster.producer_epoch(f"{STATE}-0") == epoch + 1


async def test_the_first_word_is_waited_for_so_long_and_no_longer() -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # When
        await Process(backing).service.first_word(0.01)

        # Then
        assert cluster.asked(ApiKey.METADATA) == []


async def test_a_drain_returns_when_all_is_durable() -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster)
        process = await Process(backing).serves()
        wanted = [PartitionInitialization(key, StateEpoch(0), 0) for key in (HERE, THERE)]
        await process.service.states.initialize(wanted)
        before = len(cluster.records(state_log()))
        for offset in range(10):
            delta = StateDelta(0, 1, (StateBatch(offset, offset, RecordState.ACKNOWLEDGED, 1),))
            process.service.states.persist(
                HERE, delta, state_epoch=StateEpoch(0), leader_epoch=LeaderEpoch(0), actors=()
            )

        # When
        await process.service.drain(10)

        # Then
        assert len(cluster.records(state_log())) == before + 1


# ---------------------------------------------------- topics that are not what they were


async def test_topics_that_got_more_partitions_are_refused_before_any_slot_is_claimed() -> None:
    async with ScriptedStateLog() as cluster:
        # Given
        create_state_topics(cluster)
        async with StateLogBacking(cluster) as backing:
            await Process(backing).serves()
        epochs = [cluster.producer_epoch(f"{STATE}-{slot}") for slot in range(4)]
        for topic_id in (STATE_ID, GROUPS_ID):
            cluster.add_partitions(topic_id, 4)

        # When
        async with StateLogBacking(cluster) as backing:
            process = Process(backing)
            process.service.start()
            await process.service.first_word(10)

            # Then
            assert f"topic {STATE} has 4 partitions and had 2" in process.service.problem
            assert process.service.slots is None
        assert [cluster.producer_epoch(f"{STATE}-{slot}") for slot in range(4)] == epochs


async def test_topics_of_a_newer_format_are_refused_by_name_before_any_slot_is_claimed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster)
        newer = encode_group_record(StateTopicFacts(SLOT_COUNT, 3), claim_epoch=None)
        cluster.write_foreign(groups_log(), newer)
        process = Process(backing)

        # When
        process.service.start()
        await process.service.first_word(10)

        # Then
        assert process.service.problem == (
            f"the state in topic {STATE} is of format 3; this kproxy reads up to 2: "
            "run the kproxy that wrote it, or a newer one"
        )
        assert backing.measured.counts["statelog_newer_formats",] == 1
        assert [record.msg for record in alarms(caplog)] == ["state_log_unavailable"]
        assert [len(cluster.records(log)) for log in (state_log(), groups_log())] == [0, 1]


async def test_the_facts_are_written_into_the_first_slot_and_into_no_other() -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster)

        # When
        await Process(backing).serves()

        # Then
        for slot, count in ((0, 1), (1, 0)):
            records = [decode_group_record(each).record for each in cluster.records(groups_log(slot))]
            assert sum(isinstance(record, StateTopicFacts) for record in records) == count


@pytest.mark.parametrize("name", [STATE, GROUPS])
async def test_a_topic_that_is_deleted_and_created_anew_is_noticed_and_served_from(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(state_log_service, "TOPIC_WATCH_SECONDS", 0.01)

    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster)
        process = await Process(backing).serves()
        before = process.service.slots
        wanted = [PartitionInitialization(HERE, StateEpoch(0), 0)]
        await process.service.states.initialize(wanted)

        # When
        cluster.create_topic(name, TopicId(b"another-topic-id"), partition_count=SLOT_COUNT)
        await backing.metadata.refresh()
        await until(lambda: process.service.slots not in {None, before})
        await process.serves()

        # Then
        assert await process.service.states.initialize(wanted) == {}
        assert process.service.state_topic == (await backing.metadata.topics_named([STATE]))[STATE]
        assert process.changes == 3
        assert backing.listener.events.count("lost 0") == 1
        assert process.fleet.joined == [before, process.service.slots]
        assert process.fleet.desertions == 1
    details = [getattr(record, "event_keys", {}).get("detail") for record in alarms(caplog)]
    assert f"topic {name} was deleted and created anew" in details


async def test_a_topic_that_is_missing_is_told_once_and_not_made_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(state_log_service, "TOPIC_WATCH_SECONDS", 0.01)

    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster)
        process = await Process(backing).serves()
        honest = backing.metadata.topics_named
        looks: list[int] = []

        async def counted(names: Collection[str]) -> Mapping[str, TopicDescription]:
            found = await honest(names)
            looks.append(len(found))
            return found

        monkeypatch.setattr(backing.metadata, "topics_named", counted)
        cluster.delete_topic(STATE_ID)

        # When
        await backing.metadata.refresh()
        await until(lambda: looks.count(1) > 2)

        # Then
        assert process.service.slots is not None
        assert cluster.asked(ApiKey.CREATE_TOPICS) == []
    assert [record.msg for record in caplog.records].count("state_topic_missing") == 1
