"""Scenes of one member of a fleet of two, whose coordinator says what a test says. Times are in milliseconds."""

from collections.abc import Mapping, Sequence
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.fleet.events import FleetEvent
from kproxy.fleet.fleet_map import FleetMap, FleetMember, encode_map
from kproxy.fleet.group_protocol import (
    Answer,
    Described,
    Join,
    Joined,
    Pulse,
    Refused,
    Step,
    Synced,
)
from kproxy.fleet.limits import FleetLimits
from kproxy.fleet.membership import Membership
from tests.worlds.fleet_world import profile

ME, OTHER = "id-me", "id-other"
ALL: Final = frozenset(range(4))
FIRST_EPOCH: Final = 1_000
LEASE_MS: Final = 5_500


def a_membership() -> Membership:
    return Membership(profile("me", slot_count=4), FleetLimits(), first_epoch=FIRST_EPOCH)


def told(
    me: Membership, question: Step | Pulse | None, answer: Answer, at_ms: int = 0
) -> Sequence[FleetEvent]:
    """Ask and be answered in no time."""
    assert question is not None
    return me.answered(question, answer, sent_ms=at_ms, now_ms=at_ms)


def step(me: Membership, answer: Answer, at_ms: int = 0) -> Sequence[FleetEvent]:
    return told(me, me.take_step(), answer, at_ms)


def pulse(me: Membership, answer: Answer, at_ms: int = 0) -> Sequence[FleetEvent]:
    return told(me, me.next_pulse(), answer, at_ms)


def joining() -> Membership:
    """A member whose join is being held."""
    me = a_membership()
    step(me, Refused(ErrorCode.MEMBER_ID_REQUIRED, ME))
    assert isinstance(me.take_step(), Join)
    return me


def a_map(owners: Sequence[int], moves: Mapping[int, int] | None = None, *, epoch: int = 5) -> FleetMap:
    """A map of this member, at place 0, and another one."""
    members = tuple(
        FleetMember(member_id, f"token of {name}", name, "127.0.0.1", 19_099)
        for member_id, name in ((ME, "me"), (OTHER, "other"))
    )
    next_owners = [(moves or {}).get(slot, -1) for slot in range(len(owners))]
    return FleetMap(epoch, members, tuple(owners), tuple(next_owners))


def follow(
    me: Membership, fleet_map: FleetMap, *, generation: int = 1, at_ms: int = 0
) -> Sequence[FleetEvent]:
    """Let its join be answered, by a generation that another one leads, and then its sync."""
    told(me, Join(me.member_id, b""), Joined(ME, generation, OTHER, {}), at_ms)
    return step(me, Synced(encode_map(fleet_map)), at_ms)


def settled(owners: Sequence[int] = (0, 0, 1, 1), moves: Mapping[int, int] | None = None) -> Membership:
    me = joining()
    follow(me, a_map(owners, moves))
    return me


def served(me: Membership, at_ms: int) -> set[int]:
    return {slot for slot in ALL if me.may_serve(slot, at_ms)}


def alone(me: Membership, at_ms: int = 0, *others: str) -> Sequence[FleetEvent]:
    return pulse(me, Described("PreparingRebalance", frozenset({ME, *others})), at_ms)
