"""`SlotContents`: what share groups hold in memory of each slot, taken over and forgotten as slots come and go."""

from collections.abc import Callable, Mapping, Sequence

from kproxy.handlers.share_groups import ShareGroups
from kproxy.net.state_log.durable_state_log import SlotDirectory
from kproxy.share.identifiers import GroupId, SharePartitionKey
from kproxy.share.share_group_image import ShareGroupImage


class SlotContents:
    """Implements `SlotListener` over the share groups of the process."""

    def __init__(self, directory: SlotDirectory, share_groups: Callable[[], ShareGroups]) -> None:
        self._directory = directory
        self._share_groups = share_groups

    def slot_loaded(
        self, slot: int, images: Sequence[ShareGroupImage], configs: Mapping[str, Mapping[str, str]]
    ) -> None:
        """Begin with the groups of the slot, and the configurations of groups, as they are in the log.

        Fetches that wait for one of its share-partitions are woken.
        """
        self._share_groups().restore_groups(images, configs, belongs=self._groups_of(slot))
        self._share_groups().discard_share_partitions(self._keys_of(slot))

    def slot_lost(self, slot: int) -> None:
        """Forget the groups of the slot, and discard its share-partitions: what they held is delivered again.

        What its groups have configured stays until the slot is loaded, for share-partitions of other slots.
        """
        self._share_groups().discard_share_partitions(self._keys_of(slot))
        self._share_groups().forget_groups(self._groups_of(slot))

    def _keys_of(self, slot: int) -> Callable[[SharePartitionKey], bool]:
        slots = self._directory.require()
        return lambda key: slots.slot_of_key(key).number == slot

    def _groups_of(self, slot: int) -> Callable[[GroupId], bool]:
        slots = self._directory.require()
        return lambda group_id: slots.slot_of_group(group_id).number == slot
