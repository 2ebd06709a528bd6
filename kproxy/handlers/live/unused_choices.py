"""`UnusedChoices`: start offsets that were chosen, and that nobody had used when all members left.

A choice is durable before the first record is delivered, for a crash must not repeat it; a broker keeps none before the
first write, so it chooses again. Here a choice is in force all the same when this process cannot know that no member
ever held a record from there: after a restart, in doubt, or when another process had the share-partition.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kproxy.handlers.live.group_index import GroupIndex
from kproxy.share.identifiers import LeaderEpoch, SharePartitionKey, StateEpoch
from kproxy.share.state_batches import UNKNOWN_COMPLETE_COUNT
from kproxy.statelog.durable_state import DurableShareState


class StartChoice(NamedTuple):
    """A start offset, and the epochs under which it was chosen."""

    state_epoch: StateEpoch
    leader_epoch: LeaderEpoch
    start_offset: int


class UnusedChoices:
    """Those of share-partitions that are not live any more, as long as they are this process's."""

    __slots__ = ("_choices", "index")

    def __init__(self) -> None:
        self._choices: dict[SharePartitionKey, StartChoice] = {}
        self.index = GroupIndex()
        """The same share-partitions, by their group."""

    @property
    def keys(self) -> Mapping[SharePartitionKey, object]:
        """The share-partitions with one."""
        return self._choices

    def note(self, key: SharePartitionKey, choice: StartChoice) -> None:
        """Remember `choice`, which nobody used."""
        self._choices[key] = choice
        self.index.add(key)

    def forget(self, key: SharePartitionKey) -> None:
        """Let what is durable of `key` be in force."""
        self._forgotten(key)

    def take(self, key: SharePartitionKey, loaded: DurableShareState) -> bool:
        """Forget the choice of `key`; tell whether it is all that there is in `loaded`, and this load the next one."""
        choice = self._forgotten(key)
        return choice == (loaded.state_epoch, loaded.leader_epoch - 1, loaded.start_offset) and not (
            loaded.state_batches or loaded.delivery_complete_count != UNKNOWN_COMPLETE_COUNT
        )

    def _forgotten(self, key: SharePartitionKey) -> StartChoice | None:
        choice = self._choices.pop(key, None)
        if choice is not None:
            self.index.remove(key)
        return choice
