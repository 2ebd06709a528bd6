"""What becomes of the writes of a claim at its end. Why a claim ends: `test_slot`, tests/models/test_slot_doubts.py."""

import asyncio
from collections.abc import Mapping, Sequence

from kproxy.error_codes import ErrorCode
from kproxy.errors import StateLogUnavailable
from kproxy.share.share_group_image import ShareGroupImage
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.slot_scenes import KEY, lives_of, with_state
from tests.worlds.state_logs import (
    RecordingListener,
    StateLogBacking,
    acknowledged,
    refusal_of,
    state_log,
)
from tests.worlds.waiting import until


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


class SlowListener(RecordingListener):
    """Takes over for as long as a test likes."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked = asyncio.Event()

    async def take_over(
        self, slot: int, images: Sequence[ShareGroupImage], configs: Mapping[str, Mapping[str, str]]
    ) -> None:
        """Begin, and never end."""
        await super().take_over(slot, images, configs)
        self.is_asked.set()
        await asyncio.Event().wait()


async def test_what_was_taken_over_of_a_slot_that_is_lost_meanwhile_is_forgotten(
    backing: StateLogBacking,
) -> None:
    # Given
    listener = backing.listener = SlowListener()
    slot = backing.slot(backing.claims(await backing.found()))
    await listener.is_asked.wait()
    (life,) = lives_of(slot)
    is_ready = slot.is_ready

    # When
    slot.lose("another process owns it")
    await until(life.done)

    # Then
    assert not is_ready
    assert listener.events == ["lost 0"]
