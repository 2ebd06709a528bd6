"""What the records of the demo say, and what a member does about each. Pure."""

from enum import StrEnum
from typing import Final

POISON_EVERY: Final = 50
BUSY_EVERY: Final = 20


class JobKind(StrEnum):
    """What kind of work a record asks for."""

    ORDINARY = "ordinary"
    BUSY = "busy"
    """Cannot be done at the first attempt: whoever gets it first lets somebody try again."""
    POISON = "poison"
    """Cannot be done by anybody."""


class Verdict(StrEnum):
    """What a member says of a record; the values are those of `AcknowledgeType`."""

    ACCEPT = "ACCEPT"
    RELEASE = "RELEASE"
    REJECT = "REJECT"


def kind_of(number: int) -> JobKind:
    """The kind of the job with this number, counted from 0: of 100 jobs 2 are poison and 5 busy."""
    if number % POISON_EVERY == POISON_EVERY // 2:
        return JobKind.POISON
    return JobKind.BUSY if number % BUSY_EVERY == BUSY_EVERY - 1 else JobKind.ORDINARY


def verdict_on(kind: JobKind, *, delivery_count: int) -> Verdict:
    """What a member says that gets a job of this kind for the `delivery_count`-th time."""
    if kind is JobKind.POISON:
        return Verdict.REJECT
    if kind is JobKind.BUSY and delivery_count == 1:
        return Verdict.RELEASE
    return Verdict.ACCEPT
