"""`BreakableGroupLog`: the port `GroupLog` on the real store, with an append that never waits unless a test says so."""

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import replace

from kproxy.errors import ApiError
from kproxy.handlers.ports import OnDurable, OnRefused
from kproxy.share.identifiers import GroupId
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.statelog.claims import STATE_FORMAT_VERSION, Claim
from kproxy.statelog.group_queue import ConfigWrite, GroupOperation, GroupQueue, GroupRemoval, ImageWrite
from kproxy.statelog.group_records import encode_group_record
from kproxy.wire.records import Record

_LARGEST_APPEND_BYTES = 2**20


class BreakableGroupLog:
    """Implements `GroupLog`. `records` is the log, `store` what it says.

    While `persist_failure` is set, writes fail with it, and become durable all the same with `does_land`; while
    `hold_writes` is set, they become durable only when it is. What `unreadiness` holds is raised by `require_ready`.
    """

    def __init__(self) -> None:
        self.persist_failure: ApiError | None = None
        self.does_land = False
        self.hold_writes: asyncio.Event | None = None
        self.hold_removals: dict[GroupId, asyncio.Event] = {}
        """Records of these groups are removed only when their event is set."""
        self.unreadiness: ApiError | None = None
        self.images: list[ShareGroupImage] = []
        """Every picture that was to be written, in order."""
        self.configured: list[str] = []
        """Of which groups configurations were to be written, in order."""
        self.records: list[Record] = []
        self.store = GroupQueue()
        self._append(encode_group_record(Claim("in memory", STATE_FORMAT_VERSION), claim_epoch=None))
        self.store.replay(self.records[0])

    def require_ready(self, group_id: str) -> None:
        del group_id  # all are in one slot
        if self.unreadiness is not None:
            raise self.unreadiness

    def require_all_ready(self) -> None:
        self.require_ready("")

    def durable_image(self, group_id: GroupId) -> ShareGroupImage | None:
        self.require_ready(group_id)
        return self.store.durable_image(group_id)

    def persist(self, image: ShareGroupImage, *, on_refused: OnRefused | None = None) -> Awaitable[None]:
        self.images.append(image)
        return self._promise(ImageWrite(image), on_refused, self.persist_failure, self.hold_writes)

    def remove(self, group_id: GroupId) -> Awaitable[None]:
        held = self.hold_removals.get(group_id, self.hold_writes)
        return self._promise(GroupRemoval(group_id), None, self.persist_failure, held)

    def persist_configs(
        self,
        group_id: str,
        values: Mapping[str, str],
        *,
        on_durable: OnDurable | None = None,
        on_refused: OnRefused | None = None,
    ) -> Awaitable[None]:
        self.configured.append(group_id)
        write = ConfigWrite(group_id, values)
        return self._promise(write, on_refused, self.persist_failure, self.hold_writes, on_durable)

    def replayed(self) -> GroupQueue:
        """Return what a process that starts now makes of the log."""
        store = GroupQueue()
        for record in self.records:
            store.replay(record)
        return store

    async def _promise(
        self,
        operation: GroupOperation,
        on_refused: OnRefused | None,
        failure: ApiError | None,
        held: asyncio.Event | None,
        on_durable: OnDurable | None = None,
    ) -> None:
        try:
            await self._write(operation, failure, held)
        except ApiError as refusal:
            if on_refused is not None:
                on_refused(refusal)
            raise
        if on_durable is not None:
            on_durable()

    async def _write(
        self, operation: GroupOperation, failure: ApiError | None, held: asyncio.Event | None
    ) -> None:
        if held is not None:
            await held.wait()
        if failure is not None and not self.does_land:
            raise failure
        ticket = self.store.submit(operation)
        while self.store.waiting_count:
            self._write_next()
        assert ticket.is_done
        if ticket.refusal is not None:
            raise ticket.refusal
        if failure is not None:
            raise failure

    def _write_next(self) -> None:
        append = self.store.next_append(
            0, max_bytes=_LARGEST_APPEND_BYTES, claim_epoch=self.store.claim_epoch
        )
        if append is not None:
            base_offset = len(self.records)
            for record in append.records:
                self._append(record)
            self.store.succeeded(base_offset)

    def _append(self, record: Record) -> None:
        self.records.append(replace(record, offset=len(self.records)))
