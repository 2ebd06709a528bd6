"""What kproxy's own answer to one request may hold of the budget that all connections share.

An answer is read from the brokers before it can be sent, so its bytes are granted before they are read. Nobody waits
for a grant: when little is left, or a frame waits for room, an answer is smaller, and its client asks again.
"""

from types import TracebackType
from typing import Final, Self

from kproxy.net.relay.buffer_budget import BufferBudget

SMALLEST_GRANT_BYTES: Final = 64 * 1024
"""What an answer may have in any case: else clients that do not read would keep the others from every record."""


class AnswerBudget:
    """Implements the port `AnswerBudget` for one request. Leaving it as a context gives everything back."""

    __slots__ = ("_budget",)

    def __init__(self, budget: BufferBudget) -> None:
        self._budget = budget

    def grant(self, wanted_bytes: int) -> int:
        """Return how many bytes the answer may hold, at most `wanted_bytes`; instead of what was granted before."""
        self._budget.take(self, 0)
        left_bytes = max(self._budget.left_bytes, SMALLEST_GRANT_BYTES)
        granted_bytes = min(wanted_bytes, left_bytes)
        self._budget.take(self, granted_bytes)
        return granted_bytes

    def give_back(self) -> None:
        """Hold nothing: the answer has no records yet."""
        self._budget.take(self, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.give_back()
