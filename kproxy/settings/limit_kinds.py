"""What a limit may be, beside a plain number."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kproxy.settings.addresses import check_host
from kproxy.settings.value_kinds import LARGEST_INT, ValueKind, whole_number

AUTO: Final = "auto"


def bytes_or_auto(first: int) -> ValueKind[int | None]:
    """A number of bytes from `first` on, or `auto`, None, for one that follows from the memory there is."""
    number = whole_number(first)
    expectation = f"{number.expectation}, or {AUTO}"

    def parse(text: str) -> int | None:
        if text.strip().casefold() == AUTO:
            return None
        try:
            return number.parse(text)
        except ValueError:
            raise ValueError(f"expected {expectation}") from None

    return ValueKind(expectation, parse, lambda value: AUTO if value is None else str(value))


def count_by_host() -> ValueKind[Mapping[str, int]]:
    """Counts by address or host name, as Kafka writes them: `10.0.0.7:100,ingress:5000`; an address of IPv6 as it is.

    What follows the last colon is the count (`CoreUtils.parseCsvMap`).
    """
    return ValueKind("HOST:COUNT[,HOST:COUNT…]", _counts_by_host, _write_counts_by_host)


def _counts_by_host(text: str) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        host, _, count = pair.rpartition(":")
        host = host.strip().removeprefix("[").removesuffix("]")
        if not host:
            raise ValueError(f"expected HOST:COUNT at {pair!r}")
        check_host(host)
        if host in counts:
            raise ValueError(f"expected every host once, and {pair!r} repeats one")
        counts[host] = _count(count, pair)
    return MappingProxyType(counts)


def _count(text: str, pair: str) -> int:
    try:
        return whole_number(0).parse(text)
    except ValueError:
        raise ValueError(
            f"expected a count from 0 to {LARGEST_INT} behind the last colon of {pair!r}"
        ) from None


def _write_counts_by_host(counts: Mapping[str, int]) -> str:
    return ",".join(f"{host}:{count}" for host, count in counts.items())
