"""Who changed the state of a share-partition, and why: what the header of a state record says of its ranges.

The header holds compact JSON, so that any console consumer shows it to people. State never depends on it.
"""

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from json.encoder import encode_basestring_ascii
from typing import Final, TypeAlias

from kproxy.errors import CorruptStateRecord

ACTOR_HEADER: Final = "kproxy.actor"
"""The name of the header; a record carries it once per actor."""

OffsetRange: TypeAlias = tuple[int, int]
"""First and last offset, both inclusive."""


class Cause(StrEnum):
    """Why durable state changed, as it is spelt in the log."""

    ACKNOWLEDGE = "acknowledge"
    LOCK_TIMEOUT = "lock-timeout"
    SESSION_CLOSE = "session-close"
    LOG_START_MOVED = "log-start-moved"
    DELIVERY_LIMIT = "delivery-limit"
    INITIALIZE = "initialize"
    LOAD = "load"
    SNAPSHOT = "snapshot"
    ALTER_OFFSETS = "alter-offsets"
    DELETE = "delete"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who made a change, and which offsets it changed: ranges inclusive, ascending and disjoint.

    Empty texts are what nobody knows; a change that the passing of time makes has no member.
    """

    cause: Cause
    member_id: str = ""
    client_id: str = ""
    client_host: str = ""
    offset_ranges: tuple[OffsetRange, ...] = ()


def encode_actor(actor: Actor) -> bytes:
    """Return the value of the header: ASCII JSON, what is empty left out."""
    head = _encode_head(actor.cause, actor.member_id, actor.client_id, actor.client_host)
    if not actor.offset_ranges:
        return f"{{{head}}}".encode()
    ranges = ",".join([f"[{first},{last}]" for first, last in actor.offset_ranges])
    return f'{{{head},"offsets":[{ranges}]}}'.encode()


def decode_actor(header: bytes | None) -> Actor:
    """Return the actor that the value of a header names. Fields that are not known are ignored.

    Raises:
        CorruptStateRecord: no JSON object, an unknown cause, or a field that cannot be.
    """
    try:
        fields = json.loads(header or b"")
    except (ValueError, RecursionError):
        raise _corrupt(header) from None
    if not isinstance(fields, dict):
        raise _corrupt(header)
    return Actor(
        _cause(fields),
        _text(fields, "member"),
        _text(fields, "client"),
        _text(fields, "host"),
        _offset_ranges(fields),
    )


def without_overlaps(actors: Sequence[Actor]) -> tuple[Actor, ...]:
    """Return the actors so that no offset has two of them: of overlapping ranges, the later actor keeps the part.

    An actor whose ranges are all taken stays, with none.
    """
    if _are_disjoint(sorted(span for actor in actors for span in actor.offset_ranges)):
        return tuple(actors)
    taken: list[OffsetRange] = []
    kept: list[Actor] = []
    for actor in reversed(actors):
        parts = [part for span in actor.offset_ranges for part in _parts_outside(span, taken)]
        taken = sorted((*taken, *parts))
        kept.append(replace(actor, offset_ranges=tuple(parts)))
    return tuple(reversed(kept))


@lru_cache(maxsize=4096)
def _encode_head(cause: Cause, member_id: str, client_id: str, client_host: str) -> str:
    """Return the fields but for the offsets. Few members act, and each of them often."""
    texts = {"cause": cause.value, "member": member_id, "client": client_id, "host": client_host}
    return ",".join(f'"{name}":{encode_basestring_ascii(text)}' for name, text in texts.items() if text)


def _cause(fields: Mapping[str, object]) -> Cause:
    text = _text(fields, "cause")
    try:
        return Cause(text)
    except ValueError:
        raise CorruptStateRecord(f"unknown cause {text!r:.40} of a change") from None


def _text(fields: Mapping[str, object], name: str) -> str:
    text = fields.get(name, "")
    if not isinstance(text, str):
        raise CorruptStateRecord(f"{name} of an actor is no text")
    return text


def _offset_ranges(fields: Mapping[str, object]) -> tuple[OffsetRange, ...]:
    listed = fields.get("offsets", [])
    if not isinstance(listed, list):
        raise CorruptStateRecord("the offsets of an actor are no list")
    ranges = tuple(_offset_range(span) for span in listed)
    if not _are_disjoint(ranges):
        raise CorruptStateRecord("the offset ranges of an actor are not ascending and disjoint")
    return ranges


def _offset_range(span: object) -> OffsetRange:
    match span:
        case [int(first), int(last)] if type(first) is type(last) is int and 0 <= first <= last:
            return first, last
    raise CorruptStateRecord(f"{span!r:.60} is no range of offsets")


def _are_disjoint(ranges: Sequence[OffsetRange]) -> bool:
    return all(before[1] < after[0] for before, after in pairwise(ranges))


def _parts_outside(span: OffsetRange, taken: Sequence[OffsetRange]) -> list[OffsetRange]:
    """Return what of `span` lies in none of `taken`, which is ascending and disjoint."""
    next_offset, last = span
    parts = []
    for covered_first, covered_last in taken[
        bisect_left(taken, next_offset, key=lambda covered: covered[1]) :
    ]:
        if covered_first > last:
            break
        if covered_first > next_offset:
            parts.append((next_offset, covered_first - 1))
        next_offset = covered_last + 1
    if next_offset <= last:
        parts.append((next_offset, last))
    return parts


def _corrupt(header: bytes | None) -> CorruptStateRecord:
    return CorruptStateRecord(f"{header!r:.60} names no actor")
