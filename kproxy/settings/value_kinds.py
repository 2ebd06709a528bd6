"""What a key's value may be: each kind reads text, writes it back and says in words what it expects."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Generic, TypeVar

from kproxy.settings.addresses import LAST_PORT, NODE_ID_PLACE, HostPort, check_host, parse_host_port
from kproxy.settings.choices import ShareAssignor

T = TypeVar("T")
ChoiceT = TypeVar("ChoiceT", bound=StrEnum)

SIMPLE_ASSIGNOR_CLASS: Final = "org.apache.kafka.coordinator.group.assignor.SimpleAssignor"
"""What a broker may have in place of `simple`."""

LARGEST_INT: Final = 2**31 - 1
"""Kafka's Integer.MAX_VALUE, the upper end of every number that Kafka leaves unbounded."""

LONGEST_GROUP_ID: Final = 249
"""Brokers take longer ones; but the default is the name of a topic."""

_UNITS_IN_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000}
_NUMBER: Final = re.compile(r"-?[0-9]{1,18}")
_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_TRUTHS: Final = {"true": True, "false": False}
_DURATION_WITH_UNIT: Final = re.compile(r"(\d{1,9})\s*(ms|s|min|m|h)")


@dataclass(frozen=True, slots=True)
class ValueKind(Generic[T]):
    """How one key's text becomes a value.

    `expectation` completes "expected …"; `parse` raises ValueError with a sentence about the text; `write`
    gives text that `parse` reads back to the same value, unless it `is_secret`: then no text of it is ever shown.
    """

    expectation: str
    parse: Callable[[str], T]
    write: Callable[[T], str]
    is_secret: bool = False


def whole_number(first: int, last: int = LARGEST_INT) -> ValueKind[int]:
    """Numbers from `first` to `last`, both inclusive."""
    expectation = f"a whole number from {first} to {last}"
    return ValueKind(expectation, lambda text: _number_within(text, first, last, expectation), str)


def milliseconds(first: int, last: int = LARGEST_INT) -> ValueKind[int]:
    """Durations from `first` to `last` milliseconds, both inclusive; plain numbers, as Kafka writes them."""
    expectation = f"a whole number of milliseconds from {first} to {last}"

    def parse(text: str) -> int:
        with_unit = _DURATION_WITH_UNIT.fullmatch(text.strip())
        if with_unit:
            in_ms = int(with_unit[1]) * _UNITS_IN_MS[with_unit[2]]
            raise ValueError(f"expected {expectation}, without a unit: write {in_ms}")
        return _number_within(text, first, last, expectation)

    return ValueKind(expectation, parse, str)


def listening_address() -> ValueKind[HostPort]:
    """An address to bind; port 0 takes any free port."""
    return ValueKind("HOST:PORT to bind", lambda text: parse_host_port(text, first_port=0), str)


def optional_listening_address() -> ValueKind[HostPort | None]:
    """An address to bind, or nothing (empty or `none`)."""
    return ValueKind("HOST:PORT to bind, or none", _optional_address, lambda value: str(value or "none"))


def server_addresses() -> ValueKind[tuple[HostPort, ...]]:
    """Addresses to connect to, separated by commas, in the order in which they are tried."""
    return ValueKind("HOST:PORT[,HOST:PORT…]", _servers, lambda value: ",".join(map(str, value)))


def principal_names() -> ValueKind[tuple[str, ...]]:
    """Principals as access control lists name them, separated by semicolons (Kafka's `super.users`)."""
    return ValueKind("TYPE:NAME[;TYPE:NAME…], such as User:admin", _principals, ";".join)


def host_name() -> ValueKind[str]:
    """A host without a port; empty leaves the choice to kproxy."""
    return ValueKind("a host name or an address, without a port", _host, str)


def bare_host_name() -> ValueKind[str]:
    """A host name or an address, or nothing."""
    return ValueKind("a host name or an address", _bare_host, str)


def host_names() -> ValueKind[tuple[str, ...]]:
    """Host names and addresses without a port, separated by commas."""
    return ValueKind("HOST[,HOST…], without ports", _hosts, ",".join)


def file_path() -> ValueKind[str]:
    """The path of a file, or nothing."""
    return ValueKind("the path of a file", str.strip, str)


def optional_group_id() -> ValueKind[str]:
    """The id of a group, or nothing."""
    return ValueKind(f"the id of a group, of {LONGEST_GROUP_ID} characters at most", _group_id, str)


def port_by_node_id() -> ValueKind[Mapping[int, int]]:
    """Ports by node id, as `1=19101,2=19102`; empty for none. No port is given twice."""
    return ValueKind("NODE-ID=PORT[,NODE-ID=PORT…]", _ports_by_node_id, _write_ports_by_node_id)


def topic_name() -> ValueKind[str]:
    """A name that Kafka allows for a topic (`Topic.validate`)."""
    return ValueKind("a topic name", _topic, str)


def true_or_false() -> ValueKind[bool]:
    """`true` or `false`, in any case."""
    return ValueKind("true or false", _truth, lambda value: str(value).lower())


def one_of(choices: type[ChoiceT], *, why: str = "") -> ValueKind[ChoiceT]:
    """One word of `choices`, in any case; `why` ends the refusal of any other."""
    expectation = " or ".join(choices)

    def parse(text: str) -> ChoiceT:
        for choice in choices:
            if text.strip().casefold() == choice.casefold():
                return choice
        raise ValueError(f"expected {expectation}{why}")

    return ValueKind(expectation, parse, str)


def share_assignor() -> ValueKind[ShareAssignor]:
    """The one assignor of share groups, as Kafka's `group.share.assignors` has it: by name, or by its class's name."""
    return ValueKind("simple", _share_assignor, str)


def _share_assignor(text: str) -> ShareAssignor:
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    if len(entries) != 1:
        raise ValueError(
            f"expected exactly one assignor for all share groups, which is simple, not {len(entries)}"
        )
    if entries[0].casefold() == ShareAssignor.SIMPLE or entries[0] == SIMPLE_ASSIGNOR_CLASS:
        return ShareAssignor.SIMPLE
    if "." in entries[0]:
        raise ValueError("expected simple: kproxy is no Java program and can load no class")
    raise ValueError("expected simple, the only assignor that Kafka has for share groups")


def _number_within(text: str, first: int, last: int, expectation: str) -> int:
    if _NUMBER.fullmatch(text.strip()) is None or not first <= int(text) <= last:
        raise ValueError(f"expected {expectation}")
    return int(text)


def _optional_address(text: str) -> HostPort | None:
    if text.strip().casefold() in {"", "none"}:
        return None
    return parse_host_port(text, first_port=0)


def _servers(text: str) -> tuple[HostPort, ...]:
    parts = [part.strip() for part in text.split(",")]
    return tuple(parse_host_port(part, first_port=1) for part in parts if part)


def _principals(text: str) -> tuple[str, ...]:
    names = [part.strip() for part in text.split(";")]
    for name in filter(None, names):
        kind, separator, rest = name.partition(":")
        if not (kind and separator and rest):
            raise ValueError(f"expected TYPE:NAME, such as User:admin, and not {name!r}")
    return tuple(name for name in names if name)


def _host(text: str) -> str:
    host = text.strip().removeprefix("[").removesuffix("]")
    if host.count(":") == 1:
        raise ValueError(
            "expected a host name or an address without a port: ports are kproxy.broker.port.start's"
        )
    if host:
        check_host(host.replace(NODE_ID_PLACE, "0"))
    return host


def _bare_host(text: str) -> str:
    if NODE_ID_PLACE in text:
        raise ValueError(f"expected one host, and {NODE_ID_PLACE} stands for several")
    return _host(text)


def _hosts(text: str) -> tuple[str, ...]:
    return tuple(_bare_host(part) for part in text.split(",") if part.strip())


def _group_id(text: str) -> str:
    group_id = text.strip()
    if len(group_id) > LONGEST_GROUP_ID:
        raise ValueError(
            f"expected the id of a group, of {LONGEST_GROUP_ID} characters at most, not {len(group_id)}"
        )
    return group_id


def _topic(text: str) -> str:
    name = text.strip()
    if _TOPIC.fullmatch(name) is None or name in {".", ".."}:
        raise ValueError("expected a topic name of 1 to 249 letters, digits, dots, underscores and hyphens")
    return name


def _truth(text: str) -> bool:
    try:
        return _TRUTHS[text.strip().casefold()]
    except KeyError:
        raise ValueError("expected true or false") from None


def _ports_by_node_id(text: str) -> Mapping[int, int]:
    ports: dict[int, int] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        node_id, port = _node_id_and_port(pair)
        if node_id in ports or port in ports.values():
            raise ValueError(f"expected every node id and every port once, and {pair!r} repeats one")
        ports[node_id] = port
    return MappingProxyType(ports)


def _node_id_and_port(pair: str) -> tuple[int, int]:
    node_id, _, port = pair.partition("=")
    expectation = f"NODE-ID=PORT with a port from 1 to {LAST_PORT} at {pair!r}"
    return _number_within(node_id, 0, LARGEST_INT, expectation), _number_within(
        port, 1, LAST_PORT, expectation
    )


def _write_ports_by_node_id(ports: Mapping[int, int]) -> str:
    return ",".join(f"{node_id}={port}" for node_id, port in ports.items())
