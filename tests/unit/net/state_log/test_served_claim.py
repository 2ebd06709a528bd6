"""What becomes of the writes of a claim at its end. Why a claim ends: `test_slot`, tests/models/test_slot_doubts.py."""

import asyncio
import gc
from collections.abc import Iterator

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import StateLogUnavailable
from kproxy.handlers.live.pauses import MOST_AT_ONCE
from kproxy.net.state_log.claim import SlotClaims
from kproxy.net.state_log.served_claim import ServedClaim
from kproxy.share.identifiers import GroupId
from kproxy.statelog.group_records import GroupConfigs, encode_group_record
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.claim_scenes import opened
from tests.worlds.slot_scenes import KEY, lives_of, with_state
from tests.worlds.state_logs import StateLogBacking, acknowledged, groups_log, refusal_of, state_log


async def test_what_waits_is_refused_also_when_the_life_of_the_slot_was_ended_before(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slot = await with_state(backing)
    cluster.refuse_append(state_log(), ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    waiting = slot.submit(acknowledged(KEY, 5, 9))

    # When
    (life,) = lives_of(slot)
    life.cancel()

    # Then
    assert type(await refusal_of(waiting)) is StateLogUnavailable


@pytest.fixture
def collected_generations() -> Iterator[list[int]]:
    """Collect nothing but when told to, and note of each time whether what is young was looked through."""
    generations: list[int] = []

    def note(phase: str, told: dict[str, int]) -> None:
        if phase == "stop":
            generations.append(told["generation"])

    gc.disable()
    gc.callbacks.append(note)
    try:
        yield generations
    finally:
        gc.callbacks.remove(note)
        gc.enable()


async def test_what_is_made_while_very_much_is_let_go_of_does_not_pile_up_for_one_collection(
    cluster: ScriptedStateLog, backing: StateLogBacking, claims: SlotClaims, collected_generations: list[int]
) -> None:
    # Given
    ids = [GroupId(f"group {number}") for number in range(3 * MOST_AT_ONCE)]
    configs = [GroupConfigs(group_id, {"share.auto.offset.reset": "earliest"}) for group_id in ids]
    for begin in range(0, len(configs), 100):
        records = [encode_group_record(each, claim_epoch=None) for each in configs[begin : begin + 100]]
        cluster.write_foreign(groups_log(), *records)
    slot = await backing.ready_slot()
    loaded = await opened(claims)
    left: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    assert slot._served is not None
    served = ServedClaim(loaded, slot._served.writers, left)
    collected_generations.clear()

    # When
    await served.take_apart()

    # Then
    assert collected_generations.count(1) >= 2 * 3, (
        "groups, and then configurations, in three portions or more"
    )
    assert (loaded.groups.group_ids, loaded.configs) == ((), {})
