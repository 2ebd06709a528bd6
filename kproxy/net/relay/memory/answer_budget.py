"""What one request, and kproxy's own answer to it, may hold of the budget that all connections share.

An answer is read from the brokers before it can be sent, so its bytes are granted before they are read. Nobody waits
for a grant: when little is left, or a frame waits for room, an answer is smaller, and its client asks again. The
request itself is counted for as long as it is being answered: decoded it takes many times its bytes, and a fetch that
waits for records keeps it. So where the budget is used up only those wait that take little.
"""

from types import TracebackType
from typing import Final, Self

from kproxy.net.relay.memory.budget_account import BudgetAccount
from kproxy.net.relay.memory.buffer_budget import SMALL_FRAME_BYTES, BufferBudget

SMALLEST_GRANT_BYTES: Final = 64 * 1024
"""What an answer may have in any case: else clients that do not read would keep the others from every record."""


class AnswerBudget:
    """Implements the port `AnswerBudget` for one request of `request_bytes`, which count from now until it is left.

    They count for the connection of `account`: what was let in beyond the limit is still there while it is answered.
    """

    __slots__ = ("_account", "_budget", "_kept_bytes", "_request_bytes", "_taken_bytes")

    def __init__(
        self, budget: BufferBudget, request_bytes: int = 0, account: BudgetAccount | None = None
    ) -> None:
        self._budget = budget
        self._account = BudgetAccount(budget) if account is None else account
        self._request_bytes = request_bytes
        self._kept_bytes = self._taken_bytes = 0
        self.give_back()

    @property
    def may_wait(self) -> bool:
        """Whether the request may be kept while it waits for something: not one that takes much of what is used up."""
        return self._request_bytes <= SMALL_FRAME_BYTES or not self._budget.is_exceeded

    def grant(self, wanted_bytes: int) -> int:
        """Return how many bytes the answer may hold, at most `wanted_bytes`; instead of what was granted before."""
        self.give_back()
        left_bytes = max(self._budget.left_bytes, SMALLEST_GRANT_BYTES)
        granted_bytes = min(wanted_bytes, left_bytes)
        self._take(self._request_bytes + self._kept_bytes + granted_bytes)
        return granted_bytes

    def give_back(self) -> None:
        """Hold nothing but the request, and what is kept: the answer has no records yet."""
        self._take(self._request_bytes + self._kept_bytes)

    def keep(self, more_bytes: int) -> None:
        """Count so many bytes more that the answer takes beside records, until the request is left."""
        self._kept_bytes += more_bytes
        self._take(self._taken_bytes + more_bytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._take(0)

    def _take(self, amount: int) -> None:
        self._account.take(amount - self._taken_bytes)
        self._taken_bytes = amount
