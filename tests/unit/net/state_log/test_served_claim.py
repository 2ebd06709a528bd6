"""What becomes of the writes of a claim at its end. Why a claim ends: `test_slot`, tests/models/test_slot_doubts.py."""

from kproxy.error_codes import ErrorCode
from kproxy.errors import StateLogUnavailable
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.slot_scenes import KEY, lives_of, with_state
from tests.worlds.state_logs import StateLogBacking, acknowledged, refusal_of, state_log


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
