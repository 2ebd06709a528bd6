"""`Hello`: what a kproxy says first to the internal listener of another one, and whether the two belong together."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from kproxy.errors import PeerRefused, UnreadableFleetData
from kproxy.fleet.data_format import MOST_SLOTS, require_between, require_text
from kproxy.wire.messages.peer_hello import PeerHello

NONCE_BYTES: Final = 32

NO_NODE: Final = -1
"""The node id of the bootstrap port, and of a connection without a client."""

LONGEST_PRINCIPAL: Final = 2_048
"""Characters of a principal as access control lists name it: the subject of a certificate may be long."""

_LAST_NODE: Final = 2**31 - 1


class Purpose(IntEnum):
    """What a connection between two processes is for."""

    REQUESTS = 1
    """Requests of one client: Kafka's frames, as on its own connection."""
    REACH = 2
    """To see whether the listener can be reached; nothing more is said."""
    VIEWS = 3
    """Paths of the admin port, each answered with a status and JSON."""


@dataclass(frozen=True, slots=True)
class FleetIdentity:
    """What processes of one fleet have in common, and who this one is.

    `token` tells it from every other process; `name` is for people.
    """

    cluster_id: str
    state_topic: str
    state_format_version: int
    slot_count: int
    fleet_group: str
    token: str
    name: str


@dataclass(frozen=True, slots=True)
class RelayedClient:
    """The client whose requests are relayed.

    `node_id` is the virtual broker that it is connected to, `address` its host and port, `principal` who it has proved
    to be (empty for who is not known), `connection_id` the number of its connection in the process that relays.
    """

    node_id: int = NO_NODE
    address: str = ""
    principal: str = ""
    connection_id: int = 0


NO_CLIENT: Final = RelayedClient()


@dataclass(frozen=True, slots=True)
class Hello:
    """Who dials, and what for. `nonce` is `NONCE_BYTES` that were never used before."""

    purpose: Purpose
    identity: FleetIdentity
    nonce: bytes
    client: RelayedClient = NO_CLIENT

    def message(self) -> PeerHello:
        """Return it as it is sent."""
        identity, client = self.identity, self.client
        return PeerHello(
            purpose=self.purpose,
            cluster_id=identity.cluster_id,
            state_topic=identity.state_topic,
            state_format_version=identity.state_format_version,
            slot_count=identity.slot_count,
            fleet_group=identity.fleet_group,
            token=identity.token,
            name=identity.name,
            nonce=self.nonce,
            node_id=client.node_id,
            client_address=client.address,
            client_principal=client.principal,
            client_connection_id=client.connection_id,
        )


def hello_of(message: PeerHello) -> Hello:
    """Return what `message` says. Raises UnreadableFleetData when that cannot be."""
    if message.purpose not in set(Purpose):
        raise UnreadableFleetData(f"purpose {message.purpose}, expected one of {[*map(int, Purpose)]}")
    identity = FleetIdentity(
        cluster_id=require_text(message.cluster_id, "cluster id"),
        state_topic=require_text(message.state_topic, "state topic"),
        state_format_version=message.state_format_version,
        slot_count=require_between(message.slot_count, "slot count", first=1, last=MOST_SLOTS),
        fleet_group=require_text(message.fleet_group, "fleet group"),
        token=require_text(message.token, "token"),
        name=require_text(message.name, "name"),
    )
    return Hello(Purpose(message.purpose), identity, require_nonce(message.nonce), _client_of(message))


def require_nonce(nonce: bytes) -> bytes:
    """Return `nonce` if it is as long as it has to be. Raises UnreadableFleetData."""
    require_between(len(nonce), "length of the nonce", first=NONCE_BYTES, last=NONCE_BYTES)
    return nonce


def refuse_stranger(own: FleetIdentity, other: FleetIdentity) -> None:
    """Raise PeerRefused when `other` is not of the fleet that `own` is of, with what differs."""
    differences = (
        ("cluster", "cluster", other.cluster_id, own.cluster_id),
        ("state_topic", "state topic", other.state_topic, own.state_topic),
        ("state_format", "state log format", other.state_format_version, own.state_format_version),
        ("slot_count", "number of slots", other.slot_count, own.slot_count),
        ("fleet_group", "kproxy.fleet.group", other.fleet_group, own.fleet_group),
    )
    for reason, what, told, expected in differences:
        if told != expected:
            raise PeerRefused(reason, f"its {what} is {told}, that of {own.name} is {expected}")


def _client_of(message: PeerHello) -> RelayedClient:
    return RelayedClient(
        node_id=require_between(message.node_id, "node id", first=NO_NODE, last=_LAST_NODE),
        address=_short(message.client_address, "client address"),
        principal=_principal(message.client_principal),
        connection_id=message.client_connection_id,
    )


def _principal(text: str) -> str:
    require_between(len(text), "length of the client principal", first=0, last=LONGEST_PRINCIPAL)
    return text


def _short(text: str, what: str) -> str:
    return require_text(text, what) if text else text
