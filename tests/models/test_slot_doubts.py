"""When an append does not end as it had to: unknown, refused, or overtaken. What a slot does then.

A slot that cannot know forgets, claims anew and reads; a slot that another process took steps down for good.
"""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import (
    ApiError,
    CoordinatorLoadInProgress,
    FencedLeaderEpoch,
    NotCoordinator,
    StateLogUnavailable,
    StateNotWritten,
)
from kproxy.net.state_log.slot import StateSlot
from kproxy.statelog.state_records import (
    Claim,
    ShareSnapshot,
    ShareUpdate,
    StateTombstone,
    decode_state_record,
    encode_state_record,
)
from tests.in_memory.scripted_state_log import Fate, ScriptedStateLog
from tests.in_memory.written_log import a_claim
from tests.worlds.slot_allocations import EPOCH, FLEET
from tests.worlds.slot_scenes import BEGINNING, CONFIGS, KEY, served_again, with_state
from tests.worlds.state_logs import (
    STATE,
    StateLogBacking,
    acknowledged,
    alarms,
    create_state_topics,
    done_with,
    drained,
    groups_log,
    refusal_of,
    state_log,
)
from tests.worlds.waiting import until

# ---------------------------------------------------- unknown outcome


async def test_on_an_unknown_outcome_everything_that_waits_is_refused_and_forgotten(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slot = await with_state(backing)
    cluster.may_land.clear()
    in_flight = slot.submit(acknowledged(KEY, 5, 5))
    await until(lambda: len(cluster.produced()) == 5)
    queued = [slot.submit(acknowledged(KEY, 6, 6)), slot.submit_group(CONFIGS)]
    cluster.decree(Fate.LOST)

    # When
    cluster.may_land.set()
    refusals = [await refusal_of(ticket) for ticket in (in_flight, *queued)]

    # Then
    assert {type(refusal) for refusal in refusals} == {StateLogUnavailable}
    assert {refusal.error_code for refusal in refusals} == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
    await served_again(backing, slot)
    assert done_with(slot, KEY) == [(0, 4)]


LOST_ANSWERS = [(Fate.LOST, 4), (Fate.LANDS_UNANSWERED, 6)]


@pytest.mark.parametrize(("fate", "last_offset"), LOST_ANSWERS, ids=[fate.value for fate, _ in LOST_ANSWERS])
async def test_after_an_unknown_outcome_the_slot_is_claimed_anew_and_serves_what_the_log_says(
    fate: Fate, last_offset: int, cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slot = await with_state(backing)
    cluster.decree(fate, state_log())

    # When
    refusal = await refusal_of(slot.submit(acknowledged(KEY, 5, 6)))

    # Then
    assert isinstance(refusal, StateLogUnavailable)
    await served_again(backing, slot)
    assert cluster.producer_epoch(f"{STATE}-0") == 1
    assert done_with(slot, KEY) == [(0, last_offset)]
    assert backing.measured.counts["statelog_rebuilds", "unknown_outcome"] == 1


async def test_an_append_that_lands_while_the_next_claim_is_being_made_is_found_and_counts_once(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slot = await with_state(backing)
    cluster.decree(Fate.LATE, state_log())
    landed: list[ErrorCode] = []
    cluster.before_init_producer_id = lambda _: landed.extend(cluster.land_late())

    # When
    await refusal_of(slot.submit(acknowledged(KEY, 5, 6)))

    # Then
    await served_again(backing, slot)
    assert landed == [ErrorCode.NONE]
    assert done_with(slot, KEY) == [(0, 6)]
    kinds = [type(decode_state_record(each).record) for each in cluster.records(state_log())]
    assert kinds == [Claim, ShareSnapshot, ShareUpdate, ShareUpdate, Claim]


async def test_an_append_that_arrives_after_the_next_claim_is_refused_by_the_leader(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slot = await with_state(backing)
    cluster.decree(Fate.LATE, state_log())
    await refusal_of(slot.submit(acknowledged(KEY, 5, 6)))
    await served_again(backing, slot)

    # When
    landed = cluster.land_late()

    # Then
    assert landed == [ErrorCode.INVALID_PRODUCER_EPOCH]
    slot.submit(acknowledged(KEY, 5, 5))
    await drained(slot)
    assert (slot.is_ready, done_with(slot, KEY)) == (True, [(0, 5)])


@pytest.mark.parametrize(
    ("error_code", "lands"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, True),
        (ErrorCode.REQUEST_TIMED_OUT, True),
        (ErrorCode.REQUEST_TIMED_OUT, False),
    ],
)
async def test_what_a_leader_refuses_may_have_landed_and_only_the_log_knows(
    error_code: ErrorCode, cluster: ScriptedStateLog, backing: StateLogBacking, *, lands: bool
) -> None:
    # Given
    slot = await with_state(backing)
    cluster.refuse_append(state_log(), error_code, lands=lands)

    # When
    await refusal_of(slot.submit(acknowledged(KEY, 5, 6)))

    # Then
    await served_again(backing, slot)
    assert done_with(slot, KEY) == [(0, 6 if lands else 4)]


@pytest.mark.parametrize("error_code", [ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.INVALID_RECORD])
async def test_what_a_leader_will_never_take_is_refused_and_the_slot_serves_on(
    error_code: ErrorCode, cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slot = await with_state(backing)
    cluster.refuse_append(state_log(), error_code)

    # When
    refusal = await refusal_of(slot.submit(acknowledged(KEY, 5, 6)))

    # Then
    assert isinstance(refusal, StateNotWritten)
    slot.submit(acknowledged(KEY, 5, 5))
    await drained(slot)
    assert done_with(slot, KEY) == [(0, 5)]
    assert backing.listener.events == ["loaded 0"]
    assert cluster.producer_epoch(f"{STATE}-0") == 0


async def test_a_broker_that_is_away_for_a_moment_while_nothing_is_under_way_costs_nothing(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slot = await with_state(backing)
    await cluster.brokers[1].stop()
    slot.submit(acknowledged(KEY, 5, 6))
    await until(lambda: backing.connections.backoff_ms(1) > 0)

    # When
    await cluster.brokers[1].start()

    # Then
    await drained(slot)
    assert done_with(slot, KEY) == [(0, 6)]
    assert backing.listener.events == ["loaded 0"]
    assert backing.measured.counts["statelog_rebuilds", "unknown_outcome"] == 0


async def test_an_unknown_outcome_in_the_groups_topic_costs_the_whole_slot(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slot = await with_state(backing)
    cluster.decree(Fate.LANDS_UNANSWERED, groups_log())

    # When
    refusal = await refusal_of(slot.submit_group(CONFIGS))

    # Then
    assert isinstance(refusal, StateLogUnavailable)
    await served_again(backing, slot)
    assert backing.listener.configs[0] == {"workers": {"share.auto.offset.reset": "earliest"}}


async def test_a_leader_that_moves_costs_a_claim_and_nothing_else() -> None:
    async with ScriptedStateLog((1, 2)) as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster)
        slot = await with_state(backing)
        cluster.lead(state_log().topic_id, 0, 2)

        # When
        await refusal_of(slot.submit(acknowledged(KEY, 5, 6)))

        # Then
        await served_again(backing, slot)
        slot.submit(acknowledged(KEY, 5, 6))
        await drained(slot)
        assert done_with(slot, KEY) == [(0, 6)]


# ---------------------------------------------------- lost to another


async def one_that_is_fenced(cluster: ScriptedStateLog, backing: StateLogBacking) -> StateSlot:
    """Return a slot of which another process has claimed both partitions."""
    slot = await with_state(backing)
    await backing.claims(await backing.found(), owner="kproxy at host-2").claim(0, EPOCH, FLEET)
    assert len(cluster.records(groups_log())) > 0
    return slot


async def test_a_slot_that_is_fenced_is_left_before_it_answers_anyone_and_not_taken_back(
    caplog: pytest.LogCaptureFixture, cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slot = await one_that_is_fenced(cluster, backing)
    said: list[tuple[ApiError | None, bool, object]] = []
    ticket = slot.submit(acknowledged(KEY, 5, 5))
    ticket.on_done = lambda done: said.append((done.refusal, slot.is_ready, slot.loaded()))

    # When
    await until(lambda: bool(said) and backing.fleet.seen_epoch == EPOCH)

    # Then
    ((refusal, was_ready, loaded),) = said
    assert isinstance(refusal, FencedLeaderEpoch)
    assert (was_ready, loaded) == (False, None)
    assert backing.listener.events == ["loaded 0", "lost 0"]
    assert backing.measured.counts["statelog_rebuilds", "fenced"] == 1
    assert cluster.producer_epoch(f"{STATE}-0") == 1
    assert alarms(caplog) == []


async def test_what_groups_wait_for_when_a_slot_is_fenced_is_refused_as_not_ours(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slot = await one_that_is_fenced(cluster, backing)

    # When
    refusal = await refusal_of(slot.submit_group(CONFIGS))

    # Then
    assert isinstance(refusal, NotCoordinator)


async def test_nothing_is_asked_of_a_slot_that_was_fenced_while_nobody_says_whose_it_is(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slot = await one_that_is_fenced(cluster, backing)

    # When
    await refusal_of(slot.submit(acknowledged(KEY, 5, 5)))
    await until(lambda: backing.fleet.seen_epoch == EPOCH)

    # Then
    for use in (slot.require_ready, lambda: slot.submit(BEGINNING), lambda: slot.submit_group(CONFIGS)):
        with pytest.raises(CoordinatorLoadInProgress):
            use()


async def test_another_claim_among_records_that_are_not_ours_means_that_the_slot_is_not_ours_either(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slot = await with_state(backing)
    cluster.write_foreign(state_log(), a_claim("somebody else", EPOCH, FLEET))

    # When
    refusal = await refusal_of(slot.submit(acknowledged(KEY, 5, 5)))
    await until(lambda: backing.fleet.seen_epoch == EPOCH)

    # Then
    assert isinstance(refusal, StateLogUnavailable)
    await until(lambda: slot.reason.startswith(f"it was claimed under map {EPOCH}"))
    assert backing.measured.counts["statelog_rebuilds", "foreign_write"] == 1
    assert cluster.producer_epoch(f"{STATE}-0") == 0


async def test_records_that_are_not_ours_without_another_claim_cost_a_claim_and_nothing_else(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slot = await with_state(backing)
    cluster.write_foreign(state_log(), encode_state_record(StateTombstone(KEY), claim_epoch=None, actors=()))

    # When
    refusal = await refusal_of(slot.submit(acknowledged(KEY, 5, 6)))

    # Then
    assert isinstance(refusal, StateLogUnavailable)
    await served_again(backing, slot)
    assert done_with(slot, KEY) == [(0, 6)]
    assert cluster.producer_epoch(f"{STATE}-0") == 1


async def test_a_late_batch_of_our_own_after_the_transactional_id_expired_does_not_cost_the_slot(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slot = await with_state(backing)
    cluster.expire_transactional_ids()
    cluster.decree(Fate.LATE, state_log())
    await refusal_of(slot.submit(acknowledged(KEY, 5, 6)))
    await served_again(backing, slot)

    # When
    landed = cluster.land_late()

    # Then
    assert landed == [ErrorCode.NONE], "another producer id is fenced by nothing"
    await refusal_of(slot.submit(acknowledged(KEY, 8, 9)))
    await served_again(backing, slot)
    assert done_with(slot, KEY) == [(0, 4), (8, 9)]


async def test_whoever_is_outrun_while_claiming_claims_again_unless_the_other_one_knew_a_newer_map(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    claims = backing.claims(await backing.found())
    cluster.refuse_append(groups_log(), ErrorCode.INVALID_PRODUCER_EPOCH)

    # When
    slot = backing.slot(claims)
    await slot.settled(10)

    # Then
    assert slot.is_ready
    assert backing.listener.events == ["loaded 0"]
    assert cluster.producer_epoch(f"{STATE}-0") == 1
