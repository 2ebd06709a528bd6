"""Who changed the state of a share-partition, and why: what the header of a state record says of its ranges.

The header holds compact JSON, so that any console consumer shows it to people. State never depends on it. Its first
form, without a version, did not say of which type an acknowledgement was, nor how records reached the delivery limit.
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

from kproxy.errors import CorruptStateRecord, UnsupportedStateRecord
from kproxy.share.record_state import AcknowledgeType

ACTOR_HEADER: Final = "kproxy.actor"
"""The name of the header; a record carries it once per actor."""

FIRST_ACTOR_VERSION: Final = 0
"""The form of the header without a version."""
ACTOR_VERSION: Final = 1
"""The form with acknowledgement types and the delivery limit, which is written now."""

MAX_TEXT_LENGTH: Final = 256
"""Characters of each text of a header. Clients choose theirs, of up to 32 KB."""

OffsetRange: TypeAlias = tuple[int, int]
"""First and last offset, both inclusive."""


class Cause(StrEnum):
    """Why durable state changed, as it is spelt in the log. DELIVERY_LIMIT is of the first form only."""

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


class RecordEnd(StrEnum):
    """What ended records for good, as it is spelt in the log and in the answers of `kproxy replay`."""

    ACCEPT = "accept"
    REJECT = "reject"
    GAP = "gap"
    DELIVERY_LIMIT = "delivery-limit"
    LOG_START = "log-start"


_ENDS_OF_TYPES: Final = {
    AcknowledgeType.ACCEPT: RecordEnd.ACCEPT,
    AcknowledgeType.REJECT: RecordEnd.REJECT,
    AcknowledgeType.GAP: RecordEnd.GAP,
}
_RECORDED_TYPES: Final = {
    acknowledge_type.name.lower(): acknowledge_type
    for acknowledge_type in (*_ENDS_OF_TYPES, AcknowledgeType.RELEASE)
}
"""How the types are spelt in the log. Renewals are not durable."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who made a change, and which offsets it changed: ranges inclusive, ascending and disjoint.

    Empty texts are what nobody knows; a log start that moves has no member. An acknowledgement is of one type, and
    of none in the first form, or when it changed no offset. Records that were taken back AT the delivery limit are done
    with, whether they were released, their lock or their session ended.
    """

    cause: Cause
    member_id: str = ""
    client_id: str = ""
    client_host: str = ""
    offset_ranges: tuple[OffsetRange, ...] = ()
    acknowledge_type: AcknowledgeType | None = None
    is_at_delivery_limit: bool = False
    version: int = ACTOR_VERSION
    reason: str = ""
    """What an operator did, and said why; empty for all others. Decoders that do not know it pass over it."""

    @property
    def end(self) -> RecordEnd | None:
        """What ended the records of its ranges; None when they go on, or it was not recorded."""
        if self.is_at_delivery_limit or self.cause is Cause.DELIVERY_LIMIT:
            return RecordEnd.DELIVERY_LIMIT
        if self.cause is Cause.LOG_START_MOVED:
            return RecordEnd.LOG_START
        return None if self.acknowledge_type is None else _ENDS_OF_TYPES.get(self.acknowledge_type)


def encode_actor(actor: Actor) -> bytes:
    """Return the value of the header: ASCII JSON, what is empty left out, texts cut to MAX_TEXT_LENGTH."""
    head = _encode_head(
        actor.version,
        actor.cause,
        actor.acknowledge_type,
        is_at_delivery_limit=actor.is_at_delivery_limit,
        texts=(
            cut_text(actor.member_id),
            cut_text(actor.client_id),
            cut_text(actor.client_host),
            cut_text(actor.reason),
        ),
    )
    if not actor.offset_ranges:
        return f"{{{head}}}".encode()
    ranges = ",".join([f"[{first},{last}]" for first, last in actor.offset_ranges])
    return f'{{{head},"offsets":[{ranges}]}}'.encode()


def decode_actor(header: bytes | None) -> Actor:
    """Return the actor that the value of a header names. Fields that are not known are ignored.

    Raises:
        UnsupportedStateRecord: a form that is newer than this kproxy.
        CorruptStateRecord: no JSON object, an unknown cause or type, or a field that cannot be.
    """
    try:
        fields = json.loads(header or b"")
    except (ValueError, RecursionError):
        raise _corrupt(header) from None
    if not isinstance(fields, dict):
        raise _corrupt(header)
    version = _version(fields)
    return Actor(
        _cause(fields),
        _text(fields, "member"),
        _text(fields, "client"),
        _text(fields, "host"),
        _offset_ranges(fields),
        _acknowledge_type(fields),
        _is_at_delivery_limit(fields),
        version,
        _text(fields, "reason"),
    )


def without_overlaps(actors: Sequence[Actor]) -> tuple[Actor, ...]:
    """Return the actors so that no offset has two of them: of overlapping ranges, the later actor keeps the part.

    An actor whose ranges are all taken stays, with none. What overlaps are writes that one record says together: the
    state of an offset in it is that which the last of them left.
    """
    if _are_disjoint(sorted(span for actor in actors for span in actor.offset_ranges)):
        return tuple(actors)
    taken: list[OffsetRange] = []
    kept: list[Actor] = []
    for actor in reversed(actors):
        parts = [part for span in actor.offset_ranges for part in parts_outside(span, taken)]
        taken = sorted((*taken, *parts))
        kept.append(replace(actor, offset_ranges=tuple(parts)))
    return tuple(reversed(kept))


def parts_outside(span: OffsetRange, taken: Sequence[OffsetRange]) -> list[OffsetRange]:
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


@lru_cache(maxsize=4096)
def _encode_head(
    version: int,
    cause: Cause,
    acknowledge_type: AcknowledgeType | None,
    *,
    is_at_delivery_limit: bool,
    texts: tuple[str, str, str, str],
) -> str:
    """Return the fields but for the offsets. Few members act, and each of them often."""
    fields = {
        "cause": cause.value,
        "type": "" if acknowledge_type is None else acknowledge_type.name.lower(),
        "end": RecordEnd.DELIVERY_LIMIT.value if is_at_delivery_limit else "",
        **dict(zip(("member", "client", "host", "reason"), texts, strict=True)),
    }
    told = [f'"{name}":{encode_basestring_ascii(text)}' for name, text in fields.items() if text]
    return ",".join([f'"version":{version}', *told] if version else told)


def cut_text(text: str) -> str:
    """Return `text`, its end replaced by an ellipsis when it is longer than MAX_TEXT_LENGTH."""
    return text if len(text) <= MAX_TEXT_LENGTH else f"{text[: MAX_TEXT_LENGTH - 1]}…"


def _version(fields: Mapping[str, object]) -> int:
    version = fields.get("version", FIRST_ACTOR_VERSION)
    if type(version) is not int or version < FIRST_ACTOR_VERSION:
        raise CorruptStateRecord(f"{version!r:.40} is no version of an actor")
    if version > ACTOR_VERSION:
        raise UnsupportedStateRecord.newer(f"an actor of version {version}", ACTOR_VERSION)
    return version


def _cause(fields: Mapping[str, object]) -> Cause:
    text = _text(fields, "cause")
    try:
        return Cause(text)
    except ValueError:
        raise CorruptStateRecord(f"unknown cause {text!r:.40} of a change") from None


def _acknowledge_type(fields: Mapping[str, object]) -> AcknowledgeType | None:
    text = _text(fields, "type")
    if text and text not in _RECORDED_TYPES:
        raise CorruptStateRecord(f"unknown type {text!r:.40} of an acknowledgement")
    return _RECORDED_TYPES.get(text)


def _is_at_delivery_limit(fields: Mapping[str, object]) -> bool:
    text = _text(fields, "end")
    if text not in ("", RecordEnd.DELIVERY_LIMIT):
        raise CorruptStateRecord(f"unknown end {text!r:.40} of records")
    return bool(text)


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


def _corrupt(header: bytes | None) -> CorruptStateRecord:
    return CorruptStateRecord(f"{header!r:.60} names no actor")
