"""How many share groups of a world are in which state."""

from collections import Counter

from kproxy.share.share_group_image import ShareGroupState
from tests.worlds.share_group_world import ShareGroupWorld


def groups_by_state(world: ShareGroupWorld) -> Counter[ShareGroupState]:
    """Return how many groups there are, by state."""
    groups = map(world.groups.coordinator.find, world.groups.coordinator.group_ids)
    return Counter(group.state for group in groups if group is not None)
