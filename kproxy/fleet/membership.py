"""`Membership`: one process's part in its fleet, as a state machine. It asks, hears, and knows what it may serve.

Steps (Join, Sync, Leave) are asked one at a time, pulses (Heartbeat, Describe) beside them, on a connection of their
own, also while a join waits for others: they keep the lease.

There is no `group.instance.id`. A static member (KIP-345) keeps its slots when it is away for less than a session
timeout, so that a quick restart moves nothing. But nobody serves them meanwhile, while a process that leaves in order
has handed them over before it ends; two processes that were given one instance id by mistake would take the slots from
each other for ever, each within the lease of the other; and the id would be one more key that each pod needs.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import UnreadableFleetData
from kproxy.fleet.assignor import AssignmentTerms, Candidates, assign
from kproxy.fleet.events import FleetEvent, GiveUp, MapChanged, SlotsLost
from kproxy.fleet.first_moment import Company, Looks, map_of_one
from kproxy.fleet.fleet_map import FleetMap, decode_map, encode_map
from kproxy.fleet.group_protocol import (
    NO_GENERATION,
    Alive,
    Answer,
    Describe,
    Described,
    Heartbeat,
    Join,
    Joined,
    Leave,
    Pulse,
    Refused,
    RemoveDead,
    Step,
    Sync,
    Synced,
)
from kproxy.fleet.handover import Handover
from kproxy.fleet.lease import Lease
from kproxy.fleet.limits import FleetLimits
from kproxy.fleet.member_metadata import NO_EPOCH, MemberMetadata, MemberProfile, encode_member
from kproxy.fleet.member_state import TRANSITIONS, MemberState
from kproxy.fleet.slot_moves import SlotMoves

_NO_MEMBER: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID})
"""What a coordinator answers whom it does not have among its members (any more)."""

_JOIN_ANEW: Final = frozenset({ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION})
"""What it answers a member that is to join anew, with its member id."""


class Membership:
    """Of one process. All times are of one monotonic clock, in milliseconds.

    The shell asks what `take_step` and `next_pulse` return, hands every answer to `answered`, calls `tick` at
    `next_deadline_ms`, and tells those who serve slots of the events that these return, in their order. `may_serve` is
    the truth at any moment: it is false from the end of the lease on, whether or not anything was called.

    Args:
        profile: this process.
        limits: times and bounds.
        first_epoch: the least epoch of a map that this process makes before it knows of any other: the milliseconds of
            a wall clock, so that it is above those of all maps before.
    """

    def __init__(self, profile: MemberProfile, limits: FleetLimits, *, first_epoch: int) -> None:
        self.profile = profile
        self.limits = limits
        self.state = MemberState.OUTSIDE
        self.member_id = ""
        self.generation = NO_GENERATION
        """The last one that this member joined."""
        self.fleet_map: FleetMap | None = None
        """The last map that it heard of, or made for itself; not taken back when slots are lost."""
        self.owned: frozenset[int] = frozenset()
        self.is_leaving = False
        self.is_provisional = False
        """Whether it owns its slots before the first generation, see `first_moment`."""
        self.incarnation = 0
        """Rises whenever what is being asked is of no use any more: a step that still waits is to be given up."""
        self.candidates = Candidates()
        """The members of the generation, while it is this member that assigns."""
        self._lease = Lease(limits)
        self._first_epoch = first_epoch
        self._map_epoch = self._seen_epoch = NO_EPOCH
        self.trouble = ""
        """Why the last map could not be used; empty when it could."""
        self._told = self.metadata
        self._handover = Handover()
        self._rejoins = False
        self._looks, self._moves = Looks(), SlotMoves()
        self._metadata: Mapping[str, bytes] = {}
        self._assignments: Mapping[str, bytes] = {}
        self._hurries_until_ms = 0

    # ------------------------------------------------ what is so

    def may_serve(self, slot: int, now_ms: int) -> bool:
        """Tell whether this process, and so no other one, may serve `slot` at `now_ms`; see `Lease` for the limits."""
        return slot in self.owned and self._lease.is_held(now_ms)

    @property
    def lease_ends_at_ms(self) -> int | None:
        """The first moment at which nothing may be served unless something is heard; None while nothing may."""
        return self._lease.ends_at_ms

    @property
    def next_deadline_ms(self) -> int | None:
        """When `tick` is to be called, at the latest; None for never."""
        due = (self._lease.ends_at_ms, self._handover_ends_at_ms)
        return min((each for each in due if each is not None), default=None)

    @property
    def has_heirs(self) -> bool:
        """Whether it owns slots that others may have, as far as its map says: those who leave themselves may not."""
        if not self.owned or self.fleet_map is None:
            return False
        return any(member.may_own for member in self.fleet_map.members if member.member_id != self.member_id)

    @property
    def metadata(self) -> MemberMetadata:
        """What it tells of itself when it joins now."""
        map_epoch = self._map_epoch if self.owned else NO_EPOCH
        return MemberMetadata(self.profile, self.owned, map_epoch, self._seen_epoch, self.is_leaving)

    # ------------------------------------------------ what to ask

    def take_step(self) -> Step | None:
        """Return what is to be asked now, and take it as asked; None when there is nothing to ask for the time.

        Its answer, or that there was none, goes to `answered` before the next one is taken, unless `incarnation` rises.
        """
        if self.state is MemberState.LEFT or (self.is_leaving and not self.owned):
            return self._last_step()
        if self.state is MemberState.SYNCING:
            return Sync(self.member_id, self.generation, self._assignments)
        if self.state is MemberState.ASSIGNING or (self.state is MemberState.SETTLED and not self._rejoins):
            return None
        if self.state is not MemberState.JOINING:
            self._enter(MemberState.JOINING)
        self._tell()
        return Join(self.member_id, encode_member(self._told))

    def next_pulse(self) -> Pulse | None:
        """Return what is to be asked beside the step, every `pulse_interval_ms`; None when there is nothing."""
        if not self.member_id or self.state in {MemberState.OUTSIDE, MemberState.LEFT}:
            return None
        if self.generation != NO_GENERATION:
            return Heartbeat(self.member_id, self.generation)
        return self._looks.question(self.member_id)

    def pulse_interval_ms(self, now_ms: int) -> int:
        """Return how long to wait between two pulses."""
        if self.generation == NO_GENERATION:
            return self._looks.interval_ms(self.limits.heartbeat_interval_ms)
        if now_ms < self._hurries_until_ms:
            return self.limits.hurried_interval_ms
        return self.limits.heartbeat_interval_ms

    # ------------------------------------------------ what is heard

    def answered(
        self, question: Step | Pulse, answer: Answer, *, sent_ms: int, now_ms: int
    ) -> Sequence[FleetEvent]:
        """Take an answer in, and return what it changes.

        Args:
            question: what was asked; one that another member id asked is passed over.
            answer: what came; an answer that does not go with the question is passed over, too.
            sent_ms: when the question was handed to the connection, or before. The lease is counted from here.
            now_ms: when the answer is taken in.
        """
        if question.member_id != self.member_id or self.state is MemberState.LEFT:
            return ()
        if (
            isinstance(answer, Refused)
            and answer.error_code in _NO_MEMBER
            and not isinstance(question, Leave | RemoveDead)
        ):
            return self._forget_membership(answer.error_code)
        match question:
            case Join():
                return self._join_answered(answer, sent_ms)
            case Sync():
                return self._sync_answered(question, answer, sent_ms, now_ms)
            case Heartbeat():
                self._heartbeat_answered(question, answer, sent_ms)
            case Describe():
                return self._described(answer, sent_ms, now_ms)
            case RemoveDead():
                self._looks.asked_to_remove()
            case _:  # Leave: there is nothing more to say, whatever the answer
                self._enter(MemberState.LEFT)
        return ()

    def assign(self, refused: Mapping[str, str], *, epoch_floor: int) -> None:
        """Make the map of the generation; the state is ASSIGNING.

        Args:
            refused: members that are to get no slots, with the reasons: they cannot be reached.
            epoch_floor: the milliseconds of a wall clock, see `assignor.assign`.
        """
        # What this member told is older than what it knows: it may have given slots up, or own all of them since.
        self._tell()
        candidates = Candidates.of({**self._metadata, self.member_id: encode_member(self._told)})
        profile = self.profile
        terms = AssignmentTerms(profile.slot_count, profile.state_format_version, self.limits.moves_at_once)
        fleet_map = assign(
            candidates,
            terms,
            refused=refused,
            previous=self.fleet_map,
            epoch_floor=epoch_floor,
            moved_at=self._moves.moved_at,
        )
        self._assignments = dict.fromkeys(self._metadata, encode_map(fleet_map))
        self._enter(MemberState.SYNCING)

    def tick(self, now_ms: int) -> Sequence[FleetEvent]:
        """Let time pass: end a lease that is over, and wait no longer for slots that are slow to be given up."""
        if self._handover_ends_at_ms is not None and now_ms >= self._handover_ends_at_ms:
            self.join_anew()
        if self._lease.ends_at_ms is None or self._lease.is_held(now_ms):
            return ()
        self.join_anew()
        return self._lose_all("nothing was heard of the group's coordinator in time")

    # ------------------------------------------------ what this process wants

    def gave_up(self, slots: frozenset[int]) -> None:
        """Own `slots` no more: they are not served here, and their log will see nothing more of this process."""
        self.owned -= slots
        self._handover.give_up(slots)
        if self._handover.is_complete:
            self.join_anew()

    def saw_epoch(self, epoch: int) -> None:
        """Know of a claim, or a map, of `epoch`. One above that of its own map makes the member join anew."""
        self._seen_epoch = max(self._seen_epoch, epoch)
        if self.owned and epoch > self._map_epoch:
            self.join_anew()

    def begin_leaving(self) -> Sequence[FleetEvent]:
        """Want to own nothing any more, and leave when nothing is owned.

        Slots that others can have are given up as the maps ask for them; where there are no others all are lost now.
        """
        self.is_leaving = True
        if self.has_heirs:
            self.join_anew()
            return ()
        return self.leave_now()

    def leave_now(self) -> Sequence[FleetEvent]:
        """Leave whatever is owned still; the next step says so to the coordinator."""
        self.is_leaving = True
        self.incarnation += 1
        return self._lose_all("this process leaves the fleet")

    def join_anew(self) -> None:
        """Ask for a new generation: something that the leader looks at has changed. Only a settled member needs to."""
        self._rejoins = self.state is MemberState.SETTLED or self._rejoins

    # ------------------------------------------------ private

    @property
    def _handover_ends_at_ms(self) -> int | None:
        is_waiting = self.state is MemberState.SETTLED and not self._rejoins
        return self._handover.gives_up_waiting_at_ms if is_waiting else None

    def _enter(self, state: MemberState) -> None:
        assert state in TRANSITIONS[self.state], f"{self.state} does not become {state}"
        self.state = state

    def _tell(self) -> None:
        self._told = self.metadata
        self._handover.tell()

    def _last_step(self) -> Leave | None:
        if self.state is MemberState.LEFT:
            return None
        if self.member_id:
            return Leave(self.member_id)
        self._enter(MemberState.LEFT)
        return None

    def _join_answered(self, answer: Answer, sent_ms: int) -> Sequence[FleetEvent]:
        if isinstance(answer, Refused) and answer.error_code is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
        if not isinstance(answer, Joined):
            return ()
        self.member_id, self.generation = answer.member_id, answer.generation
        self._lease.renew(sent_ms, is_quiet=True)
        self._rejoins, self._assignments = False, {}
        if answer.leader_id == self.member_id:
            self._metadata, self.candidates = answer.metadata, Candidates.of(answer.metadata)
            self._enter(MemberState.ASSIGNING)
            return ()
        self._enter(MemberState.SYNCING)
        return self._lose(self.owned - self._told.owned, "the leader does not know of them")

    def _sync_answered(
        self, question: Sync, answer: Answer, sent_ms: int, now_ms: int
    ) -> Sequence[FleetEvent]:
        if question.generation != self.generation or self.state is not MemberState.SYNCING:
            return ()
        if isinstance(answer, Refused) and answer.error_code in _JOIN_ANEW:
            self._enter(MemberState.JOINING)
        if not isinstance(answer, Synced):
            return ()
        try:
            fleet_map = self._readable_map(answer.assignment)
        except UnreadableFleetData as error:
            self._enter(MemberState.JOINING)
            self.trouble = f"the leader's map cannot be used: {error}"
            return self._lose_all(self.trouble)
        self._lease.begin(sent_ms)
        self._enter(MemberState.SETTLED)
        return self._settle(fleet_map, now_ms)

    def _readable_map(self, assignment: bytes) -> FleetMap:
        fleet_map = decode_map(assignment)
        if fleet_map.slot_count != self.profile.slot_count:
            raise UnreadableFleetData(
                f"it has {fleet_map.slot_count} slots, the state log {self.profile.slot_count}"
            )
        if self.owned and fleet_map.epoch <= self._map_epoch:
            raise UnreadableFleetData(f"epoch {fleet_map.epoch} does not follow {self._map_epoch}")
        return fleet_map

    def _settle(self, fleet_map: FleetMap, now_ms: int) -> Sequence[FleetEvent]:
        mine = fleet_map.slots_of(self.member_id) - self._handover.given_up
        lost = self._lose(self.owned - mine, "the map gives them to others")
        gained = mine - self.owned
        self.fleet_map, self.owned, self._map_epoch = fleet_map, mine, fleet_map.epoch
        self.is_provisional, self.trouble = False, ""
        self._moves.note(fleet_map)
        self._seen_epoch = max(self._seen_epoch, fleet_map.epoch)
        self._rejoins = (
            self._seen_epoch > fleet_map.epoch
            or self.is_leaving is not self._told.is_leaving
            or bool(self._handover.given_up)
        )
        to_give_up = fleet_map.leaving(self.member_id) & mine
        self._handover.ask(to_give_up, patience_ends_ms=now_ms + self.limits.give_up_patience_ms)
        self._hurries_until_ms = now_ms + self.limits.session_timeout_ms if fleet_map.has_moves else now_ms
        give_up = (GiveUp(to_give_up),) if to_give_up else ()
        return (*lost, MapChanged(fleet_map, gained), *give_up, *self.tick(now_ms))

    def _heartbeat_answered(self, question: Heartbeat, answer: Answer, sent_ms: int) -> None:
        if question.generation != self.generation:
            return
        # Before a sync is answered members are removed that do not sync, however alive they are.
        has_synced = self.state in {MemberState.SETTLED, MemberState.JOINING}
        match answer:
            case Alive():
                self._lease.renew(sent_ms, is_quiet=has_synced)
            case Refused(ErrorCode.REBALANCE_IN_PROGRESS) if has_synced:
                self._lease.renew(sent_ms, is_quiet=False)
                self.join_anew()
            case Refused(ErrorCode.ILLEGAL_GENERATION):
                self.join_anew()
            case _:
                pass

    def _described(self, answer: Answer, sent_ms: int, now_ms: int) -> Sequence[FleetEvent]:
        if not isinstance(answer, Described) or self.generation != NO_GENERATION or self.is_leaving:
            return ()
        found = self._looks.saw(answer, self.member_id)
        if self.is_provisional and found is not Company.UNKNOWN:
            self._lease.renew(sent_ms, is_quiet=True)
        elif found is Company.ALONE:
            return self._begin_alone(sent_ms, now_ms)
        return ()

    def _begin_alone(self, sent_ms: int, now_ms: int) -> Sequence[FleetEvent]:
        epoch = max(self._first_epoch, self._seen_epoch + 1)
        self.fleet_map = map_of_one(self.profile, self.member_id, epoch)
        self._map_epoch = self._seen_epoch = epoch
        self.owned = self.fleet_map.slots_of(self.member_id)
        self.is_provisional = True
        self._lease.begin(sent_ms)
        return (MapChanged(self.fleet_map, self.owned), *self.tick(now_ms))

    def _forget_membership(self, error_code: ErrorCode) -> Sequence[FleetEvent]:
        self.member_id, self.generation = "", NO_GENERATION
        self._rejoins, self._looks = False, Looks()
        self.incarnation += 1
        self._enter(MemberState.OUTSIDE)
        return self._lose_all(f"the group's coordinator does not know this member: {error_code.name}")

    def _lose_all(self, reason: str) -> Sequence[FleetEvent]:
        self._lease.end()
        self.is_provisional = False
        return self._lose(self.owned, reason)

    def _lose(self, slots: frozenset[int], reason: str) -> Sequence[FleetEvent]:
        self.owned -= slots
        self._handover.lose(slots)
        return (SlotsLost(slots, reason),) if slots else ()
