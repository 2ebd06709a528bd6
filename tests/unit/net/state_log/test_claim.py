"""Claiming a slot: a higher producer epoch, and a record in both partitions."""

from collections.abc import Sequence

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.net.state_log.allocation import ClaimLost
from kproxy.net.state_log.append_dates import NO_DATE
from kproxy.net.state_log.claim import SlotClaims
from kproxy.net.state_log.producer_identities import ProducerIdentity
from kproxy.share.identifiers import TopicIdPartition
from kproxy.statelog.claims import NO_MAP_EPOCH, Claim
from kproxy.statelog.group_records import (
    RecoveryPoint,
    decode_group_record,
)
from kproxy.statelog.state_records import decode_state_record
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.records import Record
from tests.in_memory.scripted_state_log import Fate, ScriptedStateLog
from tests.in_memory.written_log import a_claim
from tests.worlds.slot_allocations import EPOCH, FLEET
from tests.worlds.state_logs import (
    GROUPS,
    NOW_MS,
    STATE,
    StateLogBacking,
    create_state_topics,
    groups_log,
    state_log,
)
from tests.worlds.waiting import until

SLOT_0 = f"{STATE}-0"
NOT_A_RECORD = Record(b"\x00\x63what", b"?")


# ---------------------------------------------------- claiming


@pytest.fixture
def node_ids() -> Sequence[int]:
    """Two brokers, of which one coordinates what the other leads."""
    return (1, 2)


async def test_a_claim_is_a_higher_epoch_and_a_record_in_both_partitions_that_names_the_owner(
    cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    await claims.claim(0, EPOCH, FLEET)

    # When
    claimed = await claims.claim(0, EPOCH, FLEET)

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
    assert (of_states.record.map_epoch, of_states.record.fleet_group) == (EPOCH, FLEET)
    assert (of_states.claim_epoch, of_groups.claim_epoch) == (None, None)


async def test_slots_are_claimed_under_ids_of_their_own(
    cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # When
    await claims.claim(0, EPOCH, FLEET)
    await claims.claim(1, EPOCH, FLEET)

    # Then
    assert [cluster.producer_epoch(f"{STATE}-{slot}") for slot in (0, 1)] == [0, 0]
    assert len(cluster.records(state_log(1))) == len(cluster.records(groups_log(1))) == 1


@pytest.mark.parametrize("partition", [state_log(), groups_log()], ids=[STATE, GROUPS])
async def test_whoever_is_fenced_while_claiming_lost_the_slot(
    partition: TopicIdPartition, cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    cluster.refuse_append(partition, ErrorCode.INVALID_PRODUCER_EPOCH)

    # When / Then
    with pytest.raises(ClaimLost, match=r"another kproxy claimed .*-0 at the same time"):
        await claims.claim(0, EPOCH, FLEET)


async def test_a_principal_that_may_not_write_is_told_so(
    cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    cluster.refuse_append(groups_log(), ErrorCode.TOPIC_AUTHORIZATION_FAILED)

    # When / Then
    with pytest.raises(BrokerUnavailable, match=f"may not write to {GROUPS}-0: allow it Write on that topic"):
        await claims.claim(0, EPOCH, FLEET)


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.LANDS_UNANSWERED], ids=lambda fate: str(fate.value))
async def test_a_claim_whose_outcome_is_unknown_is_no_claim(
    fate: Fate, cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    cluster.decree(fate)

    # When / Then
    with pytest.raises(BrokerUnavailable, match="cannot be claimed"):
        await claims.claim(0, EPOCH, FLEET)


async def test_a_slot_is_claimed_by_a_process_whose_clock_is_where_leaders_take_no_dates(
    cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    cluster.latest_date_ms = NOW_MS - 5 * 3_600_000

    # When
    claimed = await claims.claim(0, EPOCH, FLEET)

    # Then
    assert (claimed.state.claim_epoch, claimed.groups.claim_epoch) == (0, 0)
    assert [record.timestamp_ms for record in cluster.records(state_log())] == [NO_DATE]


async def test_a_leader_that_moved_is_looked_up_before_claiming(
    cluster: ScriptedStateLog, backing: StateLogBacking, claims: SlotClaims
) -> None:
    # Given
    cluster.lead(state_log().topic_id, 0, 2)
    cluster.lead(groups_log().topic_id, 0, 2)
    await backing.metadata.refresh()

    # When
    claimed = await claims.claim(0, EPOCH, FLEET)

    # Then
    assert claimed.state.claim_epoch == 0
    assert len(cluster.brokers[2].asked(ApiKey.PRODUCE)) == 1


# ---------------------------------------------------- claiming again


OLDER, NEWER = EPOCH - 1, EPOCH + 1


async def claimed_again(claims: SlotClaims, owned_up_to: int) -> int:
    """Claim slot 0 once more, unless another process did under a newer map; return the offset of the claim."""
    await claims.require_unclaimed(0, owned_up_to, EPOCH)
    return (await claims.claim(0, EPOCH, FLEET)).state.claim_epoch


async def test_whoever_owned_a_slot_takes_it_again_while_nobody_else_claimed_it(
    cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    cluster.write_foreign(state_log(), a_claim("an owner of long ago", NEWER))
    owned = await claims.claim(0, EPOCH, FLEET)
    cluster.write_foreign(state_log(), NOT_A_RECORD)

    # When / Then
    assert await claimed_again(claims, owned.state.claim_epoch) == 3


async def test_a_slot_that_somebody_claimed_under_a_newer_map_meanwhile_is_not_taken_back(
    cluster: ScriptedStateLog, backing: StateLogBacking, claims: SlotClaims
) -> None:
    # Given
    owned = await claims.claim(0, EPOCH, FLEET)
    await backing.claims(await backing.found(), owner="kproxy at host-2").claim(0, NEWER, FLEET)

    # When
    with pytest.raises(
        ClaimLost,
        match=rf"'kproxy at host-2 \(.*\)' claimed it at offset 1 under map {NEWER}, and this process's is {EPOCH}",
    ) as lost:
        await claimed_again(claims, owned.state.claim_epoch)

    # Then
    assert cluster.producer_epoch(SLOT_0) == 1
    assert lost.value.map_epoch == NEWER


@pytest.mark.parametrize("map_epoch", [NO_MAP_EPOCH, OLDER, EPOCH])
async def test_a_claim_of_whoever_knew_no_newer_map_is_claimed_over(
    map_epoch: int, cluster: ScriptedStateLog, backing: StateLogBacking, claims: SlotClaims
) -> None:
    # Given
    owned = await claims.claim(0, EPOCH, FLEET)
    await backing.claims(await backing.found(), owner="kproxy at host-2").claim(0, map_epoch, FLEET)

    # When
    offset = await claimed_again(claims, owned.state.claim_epoch)

    # Then
    assert (offset, cluster.producer_epoch(SLOT_0)) == (2, 2)


@pytest.mark.parametrize("owned_up_to", [0, 2, 77])
async def test_a_log_that_is_pruned_or_cut_off_below_what_was_owned_is_no_obstacle(
    owned_up_to: int, cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    for _unused in range(3):
        await claims.claim(0, EPOCH, FLEET)
    cluster.log(state_log().topic_id, 0).move_start(2)

    # When / Then
    assert await claimed_again(claims, owned_up_to) == 3


async def test_a_leader_that_calls_the_log_corrupt_is_asked_again_later_whether_the_slot_is_ours(
    cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    owned = await claims.claim(0, EPOCH, FLEET)
    cluster.write_foreign(state_log(), NOT_A_RECORD)
    cluster.refuse_reads(state_log(), ErrorCode.CORRUPT_MESSAGE)

    # When / Then
    with pytest.raises(BrokerUnavailable, match="CORRUPT_MESSAGE"):
        await claims.require_unclaimed(0, owned.state.claim_epoch, EPOCH)


async def test_a_writer_continues_behind_the_claim_record(
    cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    claimed = await claims.claim(0, EPOCH, FLEET)
    loaded = await claims.load(claimed)
    doubts: list[object] = []
    writer = claims.writer(claimed.groups, loaded.groups, lambda *doubt: doubts.append(doubt))
    ticket = loaded.groups.submit(RecoveryPoint(0))

    # When
    writer.wake()
    await cluster.brokers[1].until_asked(ApiKey.PRODUCE, 2)
    await until(lambda: ticket.is_done)

    # Then
    assert doubts == []
    assert [record.offset for record in cluster.records(groups_log())] == [0, 1]


async def test_after_refused_appends_the_leader_is_found_of_which_the_broker_asked_first_has_not_heard() -> (
    None
):
    # Given
    async with ScriptedStateLog((1, 2, 3)) as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        topics = await backing.found()
        leader_id = cluster_leader_id(backing)
        cluster.fall_behind(1)
        cluster.lead(state_log().topic_id, 0, 3)
        cluster.refuse_append(state_log(), ErrorCode.NOT_LEADER_OR_FOLLOWER, times=2)

        # When
        refused = []
        for _ in range(2):
            asked = len(cluster.asked(ApiKey.METADATA))
            outcome = await backing.appender.append(topics.state, 0, b"a batch")
            refused.append(outcome.error_code)
            await until(lambda asked=asked: len(cluster.asked(ApiKey.METADATA)) > asked)  # type: ignore[misc]

        # Then
        assert refused == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 2
        await until(lambda: cluster_leader_id(backing) == 3)
        assert leader_id != 3


def cluster_leader_id(backing: StateLogBacking) -> int:
    """Return who leads partition 0 of the state topic, as far as kproxy knows."""
    leader = backing.metadata.leader_of(state_log().topic_id, 0)
    return -1 if leader is None else leader.leader_id
