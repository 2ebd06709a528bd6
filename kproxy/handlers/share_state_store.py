"""The port through which other processes may use the share coordinator; `kproxy.net.state_log` implements it."""

from collections.abc import Sequence
from typing import Protocol

from kproxy.share.identifiers import SharePartitionKey
from kproxy.share.state_batches import StateBatch
from kproxy.statelog.durable_state import DurableShareState


class ShareStateStore(Protocol):
    """The share coordinator as other processes may call it: the five operations of API keys 83 to 87.

    Each raises the ApiError that its caller is answered with: FencedStateEpoch, FencedLeaderEpoch,
    InvalidRequest, or one that says that the slot is loading, gone or in doubt.
    """

    async def initialize_state(self, key: SharePartitionKey, *, state_epoch: int, start_offset: int) -> None:
        """Create or replace the state of `key`."""
        ...

    async def read_state(self, key: SharePartitionKey, *, leader_epoch: int) -> DurableShareState:
        """Return the state of `key`, from now on under `leader_epoch`."""
        ...

    async def write_state(  # the fields of WriteShareGroupState
        self,
        key: SharePartitionKey,
        *,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: Sequence[StateBatch],
    ) -> None:
        """Lay `batches`, which may overlap in any order, over the state of `key`."""
        ...

    async def delete_state(self, key: SharePartitionKey) -> None:
        """Delete the state of `key`; nothing when there is none."""
        ...

    async def read_summary(self, key: SharePartitionKey) -> DurableShareState | None:
        """Return the state of `key` without changing anything, None when there is none."""
        ...
