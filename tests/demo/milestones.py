"""What is said once of each kproxy that is killed or restarted, and of where members are then. Pure."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from kproxy.wording import counted
from tests.demo.outage import THE_ONLY_ONE, Outage, OutageKind


class Milestone(NamedTuple):
    """Something that has happened, and how many seconds it took."""

    text: str
    seconds: float


UPDATE: Final = "restarted as an update would"


def milestones(outage: Outage, started: float) -> Iterator[Milestone]:
    """Yield what has come to pass so far, in order; `started` is when the demo began."""
    if outage.kproxy == THE_ONLY_ONE:
        return _of_the_only_one(outage, started)
    return _of_a_kill(outage, started) if outage.kind is OutageKind.KILL else _of_a_restart(outage)


def in_hand(outage: Outage) -> str:
    """How many records were in flight."""
    return f"{counted(outage.in_hand_count, 'record', ',')} in hand"


def _killed(outage: Outage, joint: str, started: float) -> Milestone:
    what = f"{outage.kproxy} killed (SIGKILL){joint} {in_hand(outage)}, since the start"
    return Milestone(what, outage.began_at - started)


def _of_the_only_one(outage: Outage, started: float) -> Iterator[Milestone]:
    # What it had sent before it died may still be on its way to members until it is back.
    if outage.back_at is not None:
        yield _killed(outage, " with", started)
    if outage.first_accepted_at is not None:
        yield Milestone(
            "first record accepted again, since the kill", outage.first_accepted_at - outage.began_at
        )


def _of_a_kill(outage: Outage, started: float) -> Iterator[Milestone]:
    if outage.first_position_after is None:
        return
    yield _killed(outage, ",", started)
    if outage.successor is None or outage.first_accepted_at is None:
        return
    yield Milestone(
        f"{outage.successor} took over: first record accepted, since the kill",
        outage.first_accepted_at - outage.began_at,
    )
    yield from _return(outage)


def _of_a_restart(outage: Outage) -> Iterator[Milestone]:
    if outage.started_again_at is None:
        return
    yield Milestone(
        f"{outage.kproxy} {UPDATE}: SIGTERM, and it ended in", outage.started_again_at - outage.began_at
    )
    if outage.successor is None or outage.back_at is None:
        return
    yield Milestone(
        f"{outage.successor} took over: longest pause between two accepted records",
        outage.longest_pause_seconds,
    )
    yield from _return(outage)


def _return(outage: Outage) -> Iterator[Milestone]:
    if outage.back_at is not None and outage.started_again_at is not None:
        yield Milestone(
            f"{outage.kproxy} started again, and has its share of the slots after",
            outage.back_at - outage.started_again_at,
        )
