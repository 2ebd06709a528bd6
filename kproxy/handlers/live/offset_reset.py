"""`share.auto.offset.reset`: where a share-partition begins whose start offset was never chosen.

Source: KIP-932, "Share group configs"; `ShareGroupAutoOffsetResetStrategy.java`.
"""

import re
from dataclasses import dataclass
from typing import Final

from kproxy.errors import InvalidConfig
from kproxy.handlers.ports import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP

_BY_DURATION: Final = "by_duration:"

# What java.time.Duration.parse accepts. A bare "P", or a "T" with nothing behind it, is refused below.
_ISO_8601_DURATION: Final = re.compile(
    r"(?P<sign>[-+]?)P(?:(?P<days>[-+]?[0-9]{1,15})D)?"
    r"(?P<time>T(?:(?P<hours>[-+]?[0-9]{1,15})H)?(?:(?P<minutes>[-+]?[0-9]{1,15})M)?"
    r"(?:(?P<seconds>[-+]?[0-9]{1,15})(?:[.,](?P<fraction>[0-9]{0,9}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)
_MS_PER_UNIT: Final = {"days": 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1_000}


@dataclass(frozen=True, slots=True)
class OffsetReset:
    """A parsed reset: the end of the log, its start, or the first record younger than `duration_ms`."""

    kind: str
    duration_ms: int = 0

    def timestamp(self, wall_now_ms: int) -> int:
        """Return what to ask `PartitionReader.find_offset` for; never below 0 for a duration."""
        match self.kind:
            case "latest":
                return LATEST_TIMESTAMP
            case "earliest":
                return EARLIEST_TIMESTAMP
            case _:
                # Negative timestamps are ListOffsets' own constants.
                return max(wall_now_ms - self.duration_ms, 0)


def parse_offset_reset(text: str) -> OffsetReset:
    """Return the reset that `text` names: `latest`, `earliest` or `by_duration:PnDTnHnMn.nS`.

    Raises:
        InvalidConfig: it is none of these, or the duration is negative or no ISO-8601 duration.
    """
    if text in {"latest", "earliest"}:
        return OffsetReset(text)
    if not text.startswith(_BY_DURATION):
        raise InvalidConfig(f"'{text}' is none of latest, earliest, by_duration:<ISO-8601 duration>")
    duration_ms = _duration_ms(text.removeprefix(_BY_DURATION))
    if duration_ms < 0:
        raise InvalidConfig(f"the duration of '{text}' is negative")
    return OffsetReset("by_duration", duration_ms)


def _duration_ms(text: str) -> int:
    found = _ISO_8601_DURATION.fullmatch(text)
    if found is None or not any(found[unit] for unit in _MS_PER_UNIT) or found["time"] in {"T", "t"}:
        raise InvalidConfig(f"'{text}' is no ISO-8601 duration such as PT1H or P7DT30M")
    total_ms = sum(int(found[unit] or 0) * factor for unit, factor in _MS_PER_UNIT.items())
    fraction_ms = int((found["fraction"] or "").ljust(9, "0")[:9]) // 1_000_000
    total_ms += -fraction_ms if (found["seconds"] or "").startswith("-") else fraction_ms
    return -total_ms if found["sign"] == "-" else total_ms
