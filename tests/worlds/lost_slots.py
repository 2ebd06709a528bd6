"""Groups that are lost with their slot, where a test has no slots."""

from collections.abc import Collection

from kproxy.handlers.share_groups import ShareGroups
from kproxy.share.identifiers import GroupId

_LOST, _KEPT = 1, 0


def lose_groups(groups: ShareGroups, group_ids: Collection[str]) -> None:
    """Have these groups, and what they have configured, lie in a slot of their own, and lose that."""
    lost, known, configs = frozenset(group_ids), groups.coordinator.known, groups.configs

    def slot_of(group_id: str) -> int:
        return _LOST if group_id in lost else _KEPT

    for group_id in lost:
        known.find(GroupId(group_id))  # a picture has the slot that it was restored in
    known.placed.arrange(known.ids, slot_of, slot_of)
    configs.placed.arrange(configs.known_ids, slot_of, slot_of)
    groups.forget_slot(_LOST)
