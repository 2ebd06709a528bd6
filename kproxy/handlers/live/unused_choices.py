"""`UnusedChoices`: start offsets that were chosen, and that nobody had used when all members left.

A choice is durable before the first record is delivered, for a crash must not repeat it; a broker keeps none before the
first write, so it chooses again. Here a choice is in force all the same when this process cannot know that no member
ever held a record from there: after a restart, in doubt, or when another process had the share-partition.
"""

from collections.abc import Mapping

from kproxy.handlers.live.group_index import GroupIndex
from kproxy.handlers.live.load_queue import BothStays, StartChoice
from kproxy.share.identifiers import SharePartitionKey
from kproxy.share.state_batches import UNKNOWN_COMPLETE_COUNT
from kproxy.statelog.durable_state import DurableShareState


class UnusedChoices:
    """Those of share-partitions that are not live any more, as long as they are this process's."""

    __slots__ = ("_choices", "index")

    def __init__(self) -> None:
        self._choices: dict[SharePartitionKey, tuple[StartChoice, BothStays]] = {}
        self.index = GroupIndex()
        """The same share-partitions, by their group."""

    @property
    def keys(self) -> Mapping[SharePartitionKey, object]:
        """The share-partitions with one."""
        return self._choices

    def note(self, key: SharePartitionKey, choice: StartChoice, stays: BothStays) -> None:
        """Remember `choice`, which nobody used, as long as the stays in which it was made are not over."""
        self._choices[key] = choice, stays
        self.index.add(key)

    def forget(self, key: SharePartitionKey) -> None:
        """Let what is durable of `key` be in force."""
        self._forgotten(key)

    def forget_ended(self, key: SharePartitionKey) -> None:
        """Do the same, unless the choice of `key` still counts."""
        noted = self._choices.get(key)
        if noted is not None and noted[1].is_over:
            self._forgotten(key)

    def take(self, key: SharePartitionKey, loaded: DurableShareState) -> bool:
        """Forget the choice of `key`; tell whether it is all that there is in `loaded`, and this load the next one."""
        choice = self._forgotten(key)
        return choice == (loaded.state_epoch, loaded.leader_epoch - 1, loaded.start_offset) and not (
            loaded.state_batches or loaded.delivery_complete_count != UNKNOWN_COMPLETE_COUNT
        )

    def _forgotten(self, key: SharePartitionKey) -> StartChoice | None:
        choice, stays = self._choices.pop(key, (None, None))
        if stays is None:
            return None
        self.index.remove(key)
        return None if stays.is_over else choice
