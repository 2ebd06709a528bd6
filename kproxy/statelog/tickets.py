"""What waits for an append, and the append: the seam between the pure queues of a slot and the shell.

A queue (`StateQueue`, `GroupQueue`) turns what was submitted into an `Append`; the shell sends it, and tells the
queue what became of it; the queue settles the tickets.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kproxy.errors import ApiError, UnwritableStateRecord
from kproxy.wire.record_batch_builder import record_size_bytes
from kproxy.wire.records import Record
from kproxy.wording import counted


class Ticket:
    """The promise of an outcome to one operation. Settled exactly once.

    `on_done`, if set before that, is called with the ticket when it is settled, and must not raise.
    """

    __slots__ = ("is_done", "on_done", "refusal", "response")

    def __init__(self) -> None:
        self.is_done = False
        self.response: object = None
        """What the operation answers, once it is durable."""
        self.refusal: ApiError | None = None
        """Why it has no effect, or why nobody knows whether it has."""
        self.on_done: Callable[[Ticket], None] | None = None

    def settle(self, response: object = None) -> None:
        """Note that the operation is durable, or needed nothing to become durable."""
        self._finish(response, None)

    def refuse(self, refusal: ApiError) -> None:
        """Note that the operation was refused, or that its outcome is unknown."""
        self._finish(None, refusal)

    def _finish(self, response: object, refusal: ApiError | None) -> None:
        assert not self.is_done, "a ticket is settled once"
        self.is_done, self.response, self.refusal = True, response, refusal
        if self.on_done is not None:
            self.on_done(self)


def settle_all(tickets: Iterable[Ticket], response: object = None) -> None:
    """Settle every one of `tickets` with the same response."""
    for ticket in tickets:
        ticket.settle(response)


def refuse_all(tickets: Iterable[Ticket], refusal: ApiError) -> None:
    """Refuse every one of `tickets` for the same reason."""
    for ticket in tickets:
        ticket.refuse(refusal)


@dataclass(frozen=True, slots=True)
class Append:
    """Records that go to one log partition together, in this order, and become durable together."""

    records: tuple[Record, ...]


def size_within(record: Record, *, max_bytes: int, subject: object) -> int:
    """Return `record_size_bytes` of a record about `subject`. Raises UnwritableStateRecord above `max_bytes`."""
    size_bytes = record_size_bytes(record)
    if size_bytes > max_bytes:
        raise UnwritableStateRecord(
            f"a record of {counted(size_bytes, 'byte')} about {subject}; the state log takes {max_bytes} at most"
        )
    return size_bytes
