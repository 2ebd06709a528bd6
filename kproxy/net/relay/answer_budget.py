"""What one request, and kproxy's own answer to it, may hold of the budget that all connections share.

An answer is read from the brokers before it can be sent, so its bytes are granted before they are read. Nobody waits
for a grant: when little is left, or a frame waits for room, an answer is smaller, and its client asks again. The
request itself is counted for as long as it is being answered: decoded it takes many times its bytes, and a fetch that
waits for records keeps it.
"""

from types import TracebackType
from typing import Final, Self

from kproxy.net.relay.buffer_budget import BufferBudget

SMALLEST_GRANT_BYTES: Final = 64 * 1024
"""What an answer may have in any case: else clients that do not read would keep the others from every record."""


class AnswerBudget:
    """Implements the port `AnswerBudget` for one request of `request_bytes`, which count while it is entered."""

    __slots__ = ("_budget", "_request_bytes")

    def __init__(self, budget: BufferBudget, request_bytes: int = 0) -> None:
        self._budget = budget
        self._request_bytes = request_bytes

    def grant(self, wanted_bytes: int) -> int:
        """Return how many bytes the answer may hold, at most `wanted_bytes`; instead of what was granted before."""
        self.give_back()
        left_bytes = max(self._budget.left_bytes, SMALLEST_GRANT_BYTES)
        granted_bytes = min(wanted_bytes, left_bytes)
        self._budget.take(self, self._request_bytes + granted_bytes)
        return granted_bytes

    def give_back(self) -> None:
        """Hold nothing but the request: the answer has no records yet."""
        self._budget.take(self, self._request_bytes)

    def __enter__(self) -> Self:
        self.give_back()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._budget.take(self, 0)
