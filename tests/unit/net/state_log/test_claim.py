"""Claiming a slot, and finding its durable state in the log: exactly up to the claim, from the recovery point on."""

from collections.abc import Callable, Coroutine

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.net.state_log.claim import LoadedSlot, SlotClaims
from kproxy.net.state_log.ownership import ClaimLost
from kproxy.net.state_log.producer_identities import ProducerIdentity
from kproxy.share.identifiers import GroupId, TopicIdPartition
from kproxy.statelog.claims import Claim
from kproxy.statelog.group_records import (
    GroupConfigs,
    RecoveryPoint,
    StateTopicFacts,
    decode_group_record,
    encode_group_record,
)
from kproxy.statelog.state_records import decode_state_record
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.fetch_request import FetchRequest
from kproxy.wire.records import Record
from tests.in_memory.scripted_state_log import Fate, ScriptedStateLog
from tests.in_memory.written_log import a_claim, a_snapshot, an_update
from tests.worlds.backing import run
from tests.worlds.state_logs import (
    GROUPS,
    STATE,
    StateLogBacking,
    alarms,
    create_state_topics,
    groups_log,
    key_of_slot,
    state_log,
    until,
)

SLOT_0 = f"{STATE}-0"
KEY, OTHER = key_of_slot(0), key_of_slot(0, skip=1)
NOT_A_RECORD = Record(b"\x00\x63what", b"?")

Scenario = Callable[[ScriptedStateLog, StateLogBacking, SlotClaims], Coroutine[object, object, None]]


def on_cluster(scenario: Scenario, **policy: object) -> None:
    """Run `scenario` on a cluster that has the state topics."""

    async def wired() -> None:
        async with ScriptedStateLog((1, 2)) as cluster, StateLogBacking(cluster) as backing:
            create_state_topics(cluster)
            claims = backing.claims(await backing.found(), **policy)  # type: ignore[arg-type]  # passed on
            await scenario(cluster, backing, claims)

    run(wired)


async def opened(claims: SlotClaims) -> LoadedSlot:
    """Claim slot 0 and load it."""
    return await claims.load(await claims.claim(0))


# ---------------------------------------------------- claiming


def test_a_claim_is_a_higher_epoch_and_a_record_in_both_partitions_that_names_the_owner() -> None:
    async def scenario(cluster: ScriptedStateLog, _: StateLogBacking, claims: SlotClaims) -> None:
        # Given
        await claims.claim(0)

        # When
        claimed = await claims.claim(0)

        # Then
        identity = ProducerIdentity(1000, 1)
        assert (claimed.number, claimed.state.identity, claimed.groups.identity) == (0, identity, identity)
        assert (claimed.state.claim_epoch, claimed.groups.claim_epoch) == (1, 1)
        assert str(claimed.state) == f"{STATE}-0"
        of_states = decode_state_record(cluster.records(state_log())[1])
        of_groups = decode_group_record(cluster.records(groups_log())[1])
        assert of_states.record == of_groups.record
        assert isinstance(of_states.record, Claim)
        assert of_states.record.owner.startswith("kproxy at host-1 (")
        assert (of_states.claim_epoch, of_groups.claim_epoch) == (None, None)

    on_cluster(scenario)


def test_slots_are_claimed_under_ids_of_their_own() -> None:
    async def scenario(cluster: ScriptedStateLog, _: StateLogBacking, claims: SlotClaims) -> None:
        # When
        await claims.claim(0)
        await claims.claim(1)

        # Then
        assert [cluster.producer_epoch(f"{STATE}-{slot}") for slot in (0, 1)] == [0, 0]
        assert len(cluster.records(state_log(1))) == len(cluster.records(groups_log(1))) == 1

    on_cluster(scenario)


@pytest.mark.parametrize("partition", [state_log(), groups_log()], ids=[STATE, GROUPS])
def test_whoever_is_fenced_while_claiming_lost_the_slot(partition: TopicIdPartition) -> None:
    async def scenario(cluster: ScriptedStateLog, _: StateLogBacking, claims: SlotClaims) -> None:
        # Given
        cluster.refuse_append(partition, ErrorCode.INVALID_PRODUCER_EPOCH)

        # When / Then
        with pytest.raises(ClaimLost, match=r"another kproxy claimed .*-0 at the same time"):
            await claims.claim(0)

    on_cluster(scenario)


def test_a_principal_that_may_not_write_is_told_so() -> None:
    async def scenario(cluster: ScriptedStateLog, _: StateLogBacking, claims: SlotClaims) -> None:
        # Given
        cluster.refuse_append(groups_log(), ErrorCode.TOPIC_AUTHORIZATION_FAILED)

        # When / Then
        with pytest.raises(
            BrokerUnavailable, match=f"may not write to {GROUPS}-0: allow it Write on that topic"
        ):
            await claims.claim(0)

    on_cluster(scenario)


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.LANDS_UNANSWERED], ids=lambda fate: str(fate.value))
def test_a_claim_whose_outcome_is_unknown_is_no_claim(fate: Fate) -> None:
    async def scenario(cluster: ScriptedStateLog, _: StateLogBacking, claims: SlotClaims) -> None:
        # Given
        cluster.decree(fate)

        # When / Then
        with pytest.raises(BrokerUnavailable, match="cannot be claimed"):
            await claims.claim(0)

    on_cluster(scenario)


def test_a_leader_that_moved_is_looked_up_before_claiming() -> None:
    async def scenario(cluster: ScriptedStateLog, backing: StateLogBacking, claims: SlotClaims) -> None:
        # Given
        cluster.lead(state_log().topic_id, 0, 2)
        cluster.lead(groups_log().topic_id, 0, 2)
        await backing.metadata.refresh()

        # When
        claimed = await claims.claim(0)

        # Then
        assert claimed.state.claim_epoch == 0
        assert len(cluster.brokers[2].asked(ApiKey.PRODUCE)) == 1

    on_cluster(scenario)


# ---------------------------------------------------- claiming again


async def claimed_again(claims: SlotClaims, owned_up_to: int) -> int:
    """Claim slot 0 once more, unless another process did; return the offset of the claim."""
    await claims.require_unclaimed(0, owned_up_to)
    return (await claims.claim(0)).state.claim_epoch


def test_whoever_owned_a_slot_takes_it_again_while_nobody_else_claimed_it() -> None:
    async def scenario(cluster: ScriptedStateLog, _: StateLogBacking, claims: SlotClaims) -> None:
        # Given
        cluster.write_foreign(state_log(), a_claim("an owner of long ago"))
        owned = await claims.claim(0)
        cluster.write_foreign(state_log(), NOT_A_RECORD)

        # When / Then
        assert await claimed_again(claims, owned.state.claim_epoch) == 3

    on_cluster(scenario)


def test_a_slot_that_somebody_else_claimed_meanwhile_is_not_taken_back() -> None:
    async def scenario(cluster: ScriptedStateLog, backing: StateLogBacking, claims: SlotClaims) -> None:
        # Given
        owned = await claims.claim(0)
        await backing.claims(await backing.found(), owner="kproxy at host-2").claim(0)

        # When
        with pytest.raises(ClaimLost, match=r"'kproxy at host-2 \(.*\)' claimed the slot at offset 1"):
            await claimed_again(claims, owned.state.claim_epoch)

        # Then
        assert cluster.producer_epoch(SLOT_0) == 1

    on_cluster(scenario)


@pytest.mark.parametrize("owned_up_to", [0, 2, 77])
def test_a_log_that_is_pruned_or_cut_off_below_what_was_owned_is_no_obstacle(owned_up_to: int) -> None:
    async def scenario(cluster: ScriptedStateLog, _: StateLogBacking, claims: SlotClaims) -> None:
        # Given
        for _unused in range(3):
            await claims.claim(0)
        cluster.log(state_log().topic_id, 0).move_start(2)

        # When / Then
        assert await claimed_again(claims, owned_up_to) == 3

    on_cluster(scenario)


# ---------------------------------------------------- loading


def test_an_empty_slot_has_no_state_and_writes_down_how_many_partitions_there_are() -> None:
    async def scenario(_: ScriptedStateLog, __: StateLogBacking, claims: SlotClaims) -> None:
        # When
        claimed = await claims.claim(0)
        loaded = await claims.load(claimed)

        # Then
        assert (dict(loaded.fold.states), loaded.fold.claim_epoch) == ({}, claimed.state.claim_epoch)
        assert loaded.store.claim_epoch == claimed.groups.claim_epoch
        assert loaded.record_count == 2
        assert list(loaded.first_writes()) == [StateTopicFacts(2, 1), RecoveryPoint(0, 0)]

    on_cluster(scenario)


def test_state_is_loaded_up_to_the_claim_record_and_not_beyond() -> None:
    async def scenario(cluster: ScriptedStateLog, _: StateLogBacking, claims: SlotClaims) -> None:
        # Given
        cluster.write_foreign(state_log(), a_claim(), a_snapshot(KEY))
        claimed = await claims.claim(0)
        cluster.write_foreign(state_log(), a_snapshot(OTHER))

        # When
        loaded = await claims.load(claimed)

        # Then
        assert set(loaded.fold.states) == {KEY}
        assert loaded.fold.applied_offset == claimed.state.claim_epoch == 2

    on_cluster(scenario)


def test_groups_and_configurations_are_loaded() -> None:
    async def scenario(cluster: ScriptedStateLog, _: StateLogBacking, claims: SlotClaims) -> None:
        # Given
        configs = GroupConfigs(GroupId("workers"), {"share.auto.offset.reset": "earliest"})
        cluster.write_foreign(groups_log(), encode_group_record(configs, claim_epoch=None))

        # When
        loaded = await opened(claims)

        # Then
        assert loaded.store.configs() == {"workers": {"share.auto.offset.reset": "earliest"}}

    on_cluster(scenario)


def with_history(cluster: ScriptedStateLog, recovery_point: int) -> None:
    """Write a log of three records, and where its replay is said to begin."""
    cluster.write_foreign(state_log(), a_claim())
    cluster.write_foreign(state_log(), a_snapshot(KEY))
    cluster.write_foreign(state_log(), an_update(KEY))
    point = encode_group_record(RecoveryPoint(recovery_point), claim_epoch=None)
    cluster.write_foreign(groups_log(), point)


def first_read(cluster: ScriptedStateLog) -> list[int]:
    """Return the offsets from which reading the state topic began."""
    asked = [request.message for request in cluster.asked(ApiKey.FETCH)]
    return [
        partition.fetch_offset
        for message in asked
        if isinstance(message, FetchRequest)
        for topic in message.topics
        if topic.topic_id == state_log().topic_id
        for partition in topic.partitions
    ]


def test_reading_begins_at_the_recovery_point() -> None:
    async def scenario(cluster: ScriptedStateLog, _: StateLogBacking, claims: SlotClaims) -> None:
        # Given
        with_history(cluster, recovery_point=1)

        # When
        loaded = await opened(claims)

        # Then
        assert first_read(cluster) == [1]
        assert loaded.fold.states[KEY].delivery_complete_count == 6
        assert list(loaded.first_writes()) == [StateTopicFacts(2, 1), RecoveryPoint(1, 3)]

    on_cluster(scenario)


def test_where_a_log_begins_is_asked_for_only_when_it_begins_too_late() -> None:
    async def scenario(cluster: ScriptedStateLog, _: StateLogBacking, claims: SlotClaims) -> None:
        # Given
        with_history(cluster, recovery_point=1)

        # When
        await opened(claims)

        # Then
        assert cluster.asked(ApiKey.LIST_OFFSETS) == []
        assert len(cluster.asked(ApiKey.FETCH)) == 2

    on_cluster(scenario)


def test_a_recovery_point_behind_a_snapshot_that_is_needed_is_not_believed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario(cluster: ScriptedStateLog, _: StateLogBacking, claims: SlotClaims) -> None:
        # Given
        with_history(cluster, recovery_point=2)

        # When
        loaded = await opened(claims)

        # Then
        assert first_read(cluster) == [2, 0]
        assert loaded.fold.states[KEY].delivery_complete_count == 6

    on_cluster(scenario)
    assert [record.msg for record in alarms(caplog)] == ["recovery_point_too_late"]


def test_a_recovery_point_above_the_end_of_the_log_reads_the_claim_alone() -> None:
    async def scenario(cluster: ScriptedStateLog, _: StateLogBacking, claims: SlotClaims) -> None:
        # Given
        point = encode_group_record(RecoveryPoint(77), claim_epoch=None)
        cluster.write_foreign(groups_log(), point)

        # When
        loaded = await opened(claims)

        # Then
        assert loaded.fold.applied_offset == 0

    on_cluster(scenario)


def test_a_recovery_point_that_was_deleted_meanwhile_gives_way_to_the_log_start() -> None:
    async def scenario(cluster: ScriptedStateLog, _: StateLogBacking, claims: SlotClaims) -> None:
        # Given
        with_history(cluster, recovery_point=0)
        cluster.log(state_log().topic_id, 0).move_start(1)

        # When
        loaded = await opened(claims)

        # Then
        assert first_read(cluster) == [0, 1]
        assert set(loaded.fold.states) == {KEY}

    on_cluster(scenario)


def test_a_writer_continues_behind_the_claim_record() -> None:
    async def scenario(cluster: ScriptedStateLog, _: StateLogBacking, claims: SlotClaims) -> None:
        # Given
        claimed = await claims.claim(0)
        loaded = await claims.load(claimed)
        doubts: list[object] = []
        writer = claims.writer(claimed.groups, loaded.store, lambda *doubt: doubts.append(doubt))
        ticket = loaded.store.submit(RecoveryPoint(0))

        # When
        writer.wake()
        await cluster.brokers[1].until_asked(ApiKey.PRODUCE, 2)
        await until(lambda: ticket.is_done)

        # Then
        assert doubts == []
        assert [record.offset for record in cluster.records(groups_log())] == [0, 1]

    on_cluster(scenario)
