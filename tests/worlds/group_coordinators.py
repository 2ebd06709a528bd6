"""Who coordinates groups in the in-memory cluster."""

from typing import Final

from kproxy.handlers.groups.group_coordinators import OFFSETS_TOPIC
from kproxy.handlers.ports import PartitionLeader
from kproxy.share.identifiers import TopicId
from tests.worlds.share_group_world import ShareGroupWorld

OFFSETS: Final = TopicId(b"topic-id-offsets")


def coordinate_groups_at(world: ShareGroupWorld, node_id: int) -> None:
    """Make one broker the coordinator of every group."""
    world.metadata.create_topic(OFFSETS_TOPIC, OFFSETS)
    world.metadata.move_leader(OFFSETS, 0, PartitionLeader(node_id, 0))
    world.namespace.coordinator_id = node_id
