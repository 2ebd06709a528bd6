"""How many client connections there may be, in all, of one address, and without proof of who the client is.

As Kafka's `ConnectionQuotas` (SocketServer.java) has it for one address: the connection beyond the limit is closed at
once, and none that is open is touched. For all together a broker accepts nobody on that port while it is full, or
closes the connection that was idle for longest on another; here the newest is closed: whoever waits in the operating
system's queue cannot be told, and who is served is not to pay for who comes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Generic, TypeVar

UNLIMITED: Final = 2**31 - 1
"""How Kafka says that there is no limit."""

T = TypeVar("T")


class OverQuota(StrEnum):
    """Why a connection is not let in."""

    IN_ALL = "max_connections"
    OF_ADDRESS = "max_connections_per_ip"
    UNAUTHENTICATED = "max_unauthenticated_connections"


@dataclass(frozen=True, slots=True)
class QuotaLimits:
    """How many connections may be open at once. `overrides` are by address, written as `getpeername` writes it."""

    in_all: int = UNLIMITED
    of_address: int = UNLIMITED
    overrides: Mapping[str, int] = field(default_factory=dict)
    unauthenticated: int = UNLIMITED

    def of(self, address: str) -> int:
        """Return how many `address` may have."""
        return self.overrides.get(address, self.of_address)


class ConnectionQuotas(Generic[T]):
    """Counts the connections that are open.

    Args:
        limits: how many there may be.
        has_proved: whether a client has proved who it is; None where no client is asked to.
    """

    __slots__ = ("_address_counts", "_addresses", "_has_proved", "_unproved", "limits")

    def __init__(
        self,
        limits: QuotaLimits | None = None,
        *,
        has_proved: Callable[[T], bool] | None = None,
    ) -> None:
        self.limits = limits or QuotaLimits()
        self._has_proved = has_proved
        self._addresses: dict[T, str] = {}
        self._address_counts: dict[str, int] = {}
        self._unproved: dict[T, None] = {}

    @property
    def asks_for_proof(self) -> bool:
        """Whether clients have to prove who they are."""
        return self._has_proved is not None

    def limit_of(self, refusal: OverQuota, address: str) -> int:
        """Return the limit that `refusal` is about."""
        match refusal:
            case OverQuota.IN_ALL:
                return self.limits.in_all
            case OverQuota.OF_ADDRESS:
                return self.limits.of(address)
            case OverQuota.UNAUTHENTICATED:
                return self.limits.unauthenticated

    @property
    def unauthenticated_count(self) -> int:
        """How many open connections are those of clients that have yet to prove who they are."""
        self._forget_proved()
        return len(self._unproved)

    def admit(self, connection: T, address: str) -> OverQuota | None:
        """Count `connection`, and return None; or count nothing, and return why it is not let in.

        Of several reasons the one that concerns most clients is told. One that is counted already stays so.
        """
        if connection in self._addresses:
            return None
        of_address = self._address_counts.get(address, 0)
        if len(self._addresses) >= self.limits.in_all:
            return OverQuota.IN_ALL
        if of_address >= self.limits.of(address):
            return OverQuota.OF_ADDRESS
        if self._has_proved is not None:
            if len(self._unproved) >= self.limits.unauthenticated:
                self._forget_proved()
            if len(self._unproved) >= self.limits.unauthenticated:
                return OverQuota.UNAUTHENTICATED
            self._unproved[connection] = None
        self._addresses[connection] = address
        self._address_counts[address] = of_address + 1
        return None

    def leave(self, connection: T) -> None:
        """Count a connection no more; nothing happens when it was not let in, or has left."""
        self._unproved.pop(connection, None)
        address = self._addresses.pop(connection, None)
        if address is None:
            return
        self._address_counts[address] -= 1
        if not self._address_counts[address]:
            del self._address_counts[address]

    def is_unproved(self, connection: T) -> bool:
        """Tell whether the client of an open connection has yet to prove who it is. It does so once, for good."""
        if self._has_proved is None or connection not in self._unproved:
            return False
        if not self._has_proved(connection):
            return True
        del self._unproved[connection]
        return False

    def _forget_proved(self) -> None:
        if self._has_proved is not None:
            self._unproved = {each: None for each in self._unproved if not self._has_proved(each)}
