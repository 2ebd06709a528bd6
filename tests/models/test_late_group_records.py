"""A record of the groups topic that lands behind a newer claim: ignored, and then outlived by the truth.

The topic keeps the last record of each key when it is compacted, so the owner writes the true one once more.
"""

from dataclasses import replace
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.statelog.group_queue import GroupQueue
from tests.in_memory.scripted_state_log import Fate, ScriptedStateLog
from tests.worlds.slot_scenes import CONFIGS, served_again, with_state
from tests.worlds.state_logs import StateLogBacking, drained, groups_log, refusal_of

KEPT: Final = {"share.auto.offset.reset": "latest"}
OTHERS: Final = replace(CONFIGS, group_id="others")
"""A group whose configurations are in slot 0, too: slots are told apart before they get here."""


async def test_the_owner_writes_the_truth_again_before_compaction_makes_a_late_record_true(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slot = await with_state(backing)
    cluster.expire_transactional_ids()
    cluster.decree(Fate.LATE, groups_log())
    await refusal_of(slot.submit_group(CONFIGS))
    await served_again(backing, slot)
    slot.submit_group(replace(CONFIGS, values=KEPT))
    await drained(slot)
    assert cluster.land_late() == [ErrorCode.NONE], "another producer id is fenced by nothing"

    # When
    await refusal_of(slot.submit_group(OTHERS))
    await served_again(backing, slot)

    # Then
    durable = {CONFIGS.group_id: KEPT, OTHERS.group_id: OTHERS.values}
    loaded = slot.loaded()
    assert loaded is not None
    assert (loaded.groups.configs(), loaded.groups.displaced_count) == (durable, 0)
    assert configs_after_compaction(cluster) == durable


async def test_what_was_removed_is_removed_again(cluster: ScriptedStateLog, backing: StateLogBacking) -> None:
    # Given
    slot = await with_state(backing)
    cluster.expire_transactional_ids()
    cluster.decree(Fate.LATE, groups_log())
    await refusal_of(slot.submit_group(CONFIGS))
    await served_again(backing, slot)
    cluster.land_late()

    # When
    await refusal_of(slot.submit_group(OTHERS))
    await served_again(backing, slot)
    slot.submit_group(replace(OTHERS, values=KEPT))
    await drained(slot)

    # Then
    assert configs_after_compaction(cluster) == {OTHERS.group_id: KEPT}


def configs_after_compaction(cluster: ScriptedStateLog) -> object:
    """Return the configurations that are found where only the last record of each key is left."""
    last = {record.key: record for record in cluster.records(groups_log())}
    store = GroupQueue()
    for record in sorted(last.values(), key=lambda record: record.offset):
        store.replay(record)
    return store.configs()
