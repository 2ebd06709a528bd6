"""Node id to the address that clients are told. Pure: which ports are really bound, the caller says."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kproxy.errors import KproxyError, PeerViolation


@dataclass(frozen=True, slots=True)
class BackingBroker:
    """A broker of the backing cluster as its own metadata names it."""

    node_id: int
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class AdvertisedAddress:
    """Where clients reach the virtual broker of one node id."""

    host: str
    port: int


class UnknownBrokers(KproxyError):
    """A response names brokers that have no port here yet.

    Raised by the rewrites, handled by `ClientSession`: it holds the response until the ports are bound.
    """

    def __init__(self, brokers: Iterable[BackingBroker]) -> None:
        self.brokers = tuple(brokers)
        super().__init__(f"no port is bound for brokers {[broker.node_id for broker in self.brokers]}")


class BrokerAddresses:
    """The advertised address of every virtual broker whose port is bound.

    Addresses change only by `advertise`; a broker that left keeps its address, because metadata leaves out brokers
    that merely restart, and clients go on dialling them.
    """

    __slots__ = ("_addresses", "_in_doubt")

    def __init__(self, addresses: Mapping[int, AdvertisedAddress] | None = None) -> None:
        self._addresses = dict(addresses or {})
        self._in_doubt: set[int] = set()

    def advertise(self, node_id: int, address: AdvertisedAddress) -> None:
        """From now on name `address` for `node_id`."""
        self._addresses[node_id] = address
        self._in_doubt.discard(node_id)

    def doubt(self) -> None:
        """Believe the next response that names a broker about where it lives; until then it is dialled where it was.

        For when a broker cannot be reached and kproxy itself cannot ask where it went, as in front of a cluster that
        turns kproxy's own connections away.
        """
        self._in_doubt.update(self._addresses)

    def is_in_doubt(self, node_id: int) -> bool:
        """Tell whether a broker was doubted and not advertised since."""
        return node_id in self._in_doubt

    def address_of(self, node_id: int) -> AdvertisedAddress | None:
        """Return the address for `node_id`, None when no port is bound for it."""
        return self._addresses.get(node_id)

    def known(self) -> Mapping[int, AdvertisedAddress]:
        """Return every address that may be told, by node id."""
        return self._addresses

    def require(self, brokers: Iterable[BackingBroker]) -> None:
        """Return when every one of `brokers` has an address.

        Raises:
            UnknownBrokers: some have none yet, or are in doubt.
            PeerViolation: a broker with a negative id, for which no port can ever be bound; -1 means nobody.
        """
        unknown = [
            broker
            for broker in brokers
            if broker.node_id not in self._addresses or broker.node_id in self._in_doubt
        ]
        for broker in unknown:
            if broker.node_id < 0:
                detail = f"a broker with id {broker.node_id} at {broker.host}:{broker.port}"
                raise PeerViolation("malformed_response", detail)
        if unknown:
            raise UnknownBrokers(unknown)
