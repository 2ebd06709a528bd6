"""`FleetMember`: keeps this process a member of its fleet, and tells those who serve slots what it may serve."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

from kproxy.error_codes import ErrorCode
from kproxy.fleet.events import FleetEvent, GiveUp, MapChanged, SlotsLost
from kproxy.fleet.fleet_map import FleetMap
from kproxy.fleet.group_protocol import Answer, Pulse, Refused, Step, Unanswered
from kproxy.fleet.member_metadata import MemberProfile
from kproxy.fleet.member_state import MemberState
from kproxy.fleet.membership import Membership
from kproxy.handlers.ports import Clock, WallClock
from kproxy.net.backoff import Backoff
from kproxy.net.tasks import TaskKeeper
from kproxy.telemetry import logs
from kproxy.wording import counted

log = logs.logger("net.fleet")

LOOK_AGAIN_SECONDS: Final = 5.0
"""How often the leader dials members that it could not reach; they are dialled for every new map, too."""

REFUSED_ADVICE: Final = (
    "it gets no slots, the others go on: see that its internal listener can be reached from the other kproxies by the "
    "address that it tells them, and that all run versions of kproxy which follow each other"
)

LEAVING_SECONDS: Final = 1.0
"""For how long the coordinator's answer to the last word is waited for at most."""

ADVICE: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "kproxy's principal needs Read and Describe on this group",
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL: "the group is used by others than kproxy, or by a kproxy of a version that "
    "has nothing in common with this one: give the fleet another group, or run versions that follow each other",
    ErrorCode.GROUP_ID_NOT_FOUND: "a group of another type has this id: give the fleet another group",
    ErrorCode.INVALID_SESSION_TIMEOUT: "the session timeout lies outside of the brokers' group.min.session.timeout.ms "
    "and group.max.session.timeout.ms",
    ErrorCode.GROUP_MAX_SIZE_REACHED: "the brokers' group.max.size allows no more members",
}
"""What to do where trying again does not help by itself."""

PERSISTENT_COUNT: Final = 10
"""So often in a row is a refusal met that may pass by itself before it is told."""


class FleetListener(Protocol):
    """Those who serve slots. Nothing here waits; what takes long is begun, and told of later."""

    def map_changed(self, fleet_map: FleetMap, gained: frozenset[int]) -> None:
        """Know who owns what from now on. `gained` slots are to be claimed, loaded and served here."""
        ...

    def give_up(self, slots: frozenset[int]) -> None:
        """Stop serving these in order, and call `FleetMember.gave_up` with each, or with all."""
        ...

    def slots_lost(self, slots: frozenset[int], reason: str) -> None:
        """Stop serving these at once."""
        ...


class GroupCoordinator(Protocol):
    """Who is asked; `CoordinatorLink`."""

    @property
    def group_id(self) -> str:
        """The fleet's group."""
        ...

    async def ask_step(self, question: Step) -> Answer:
        """Return the answer to a step; Unanswered when there is none."""
        ...

    async def ask_pulse(self, question: Pulse, *, patience_ms: int) -> Answer:
        """Return the answer to a pulse; Unanswered when there is none in time."""
        ...

    def abandon_step(self) -> None:
        """Let the step that is being asked be Unanswered now."""
        ...


class Reach(Protocol):
    """Who can be reached; `ReachCheck`."""

    async def unreachable(self, profiles: Mapping[str, MemberProfile]) -> Mapping[str, str]:
        """Return who cannot be, by member id, with the reasons."""
        ...


@dataclass(frozen=True, slots=True)
class FleetClocks:
    """`lease` is to go on whatever stands still, see `LeaseClock`; `wall` dates maps."""

    lease: Clock
    wall: WallClock


class FleetMember:
    """One task asks steps, another one pulses, and a timer ends the lease, whatever the two wait for.

    Ask it anything that depends on who owns a slot: `may_serve` at the moment of serving, `fleet_map` for the others.
    """

    def __init__(
        self,
        membership: Membership,
        listener: FleetListener,
        *,
        coordinator: GroupCoordinator,
        reach: Reach,
        clocks: FleetClocks,
        tasks: TaskKeeper,
    ) -> None:
        self.membership = membership
        self._listener = listener
        self._coordinator = coordinator
        self._reach = reach
        self._clocks = clocks
        self._tasks = tasks
        self._backoff = Backoff(clocks.lease)
        self._incarnation = membership.incarnation
        self._step_wanted, self._pulse_wanted = asyncio.Event(), asyncio.Event()
        self._has_left = asyncio.Event()
        self._is_without_heirs = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._refusal: ErrorCode | None = None
        self._refusal_count = 0
        self._refused_members: Mapping[str, str] = {}

    # ------------------------------------------------ what others ask

    @property
    def fleet_map(self) -> FleetMap | None:
        """Who owns what, as last heard; None before the first map."""
        return self.membership.fleet_map

    def may_serve(self, slot: int) -> bool:
        """Tell whether this process, and so no other one, may serve a slot now. To be asked when it does."""
        return self.membership.may_serve(slot, self._clocks.lease.now_ms())

    @property
    def lease_ms(self) -> int:
        """For how long this process may serve its slots if nothing more is heard; 0 while it may serve none."""
        ends_at_ms = self.membership.lease_ends_at_ms
        return 0 if ends_at_ms is None else max(0, ends_at_ms - self._clocks.lease.now_ms())

    @property
    def problem(self) -> str:
        """Why this process is not settled, in words; empty when it is, or serves before the first generation."""
        membership = self.membership
        if membership.state is MemberState.SETTLED and self._own_refusal is not None:
            return f"the fleet gives this process no slots: {self._own_refusal}"
        if membership.state is MemberState.SETTLED or membership.is_provisional:
            return ""
        if self._refusal is not None:
            advice = f"; {ADVICE[self._refusal]}" if self._refusal in ADVICE else ""
            return f"group {self._coordinator.group_id}: {self._refusal.name}{advice}"
        return membership.trouble or f"group {self._coordinator.group_id}: {membership.state}"

    def start(self) -> None:
        """Join, and stay."""
        self._tasks.keep_up(self._ask_steps, name="fleet steps")
        self._tasks.keep_up(self._ask_pulses, name="fleet pulses")

    def gave_up(self, slots: frozenset[int]) -> None:
        """Know that slots which were to be given up are served here no more."""
        self.membership.gave_up(slots & self.membership.owned)
        self._take_in(())

    def saw_epoch(self, epoch: int) -> None:
        """Know of a claim of `epoch` in the log."""
        self.membership.saw_epoch(epoch)
        self._take_in(())

    async def hand_over(self, *, patience_ms: int) -> None:
        """Hand slots over for `patience_ms` at most, as long as there is anybody who may have them.

        What is left is owned and served as before, until `leave`.
        """
        if not self.membership.has_heirs:
            return
        self._take_in(self.membership.begin_leaving())
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_ms / 1000):
                await self._is_without_heirs.wait()

    async def leave(self, *, patience_ms: int) -> None:
        """Hand slots over for `patience_ms` at most, lose what is left, and leave the group."""
        self._take_in(self.membership.begin_leaving())
        if not self.membership.member_id:
            return  # nobody knows it, and so nobody is to be told: the coordinator may be out of reach
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_ms / 1000):
                await self._has_left.wait()
                return
        self._take_in(self.membership.leave_now())
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVING_SECONDS):
                await self._has_left.wait()

    # ------------------------------------------------ steps

    async def _ask_steps(self) -> None:
        while self.membership.state is not MemberState.LEFT:
            if self.membership.state is MemberState.ASSIGNING:
                await self._assign()
            step = self.membership.take_step()
            if step is None:
                self._step_wanted.clear()
                await self._step_wanted.wait()
                continue
            sent_ms = self._clocks.lease.now_ms()
            answer = await self._coordinator.ask_step(step)
            self._hear(step, answer, sent_ms)
            await self._pause_after(answer)
        self._end()

    async def _assign(self) -> None:
        membership = self.membership
        incarnation = membership.incarnation
        profiles = {member_id: member.profile for member_id, member in membership.candidates.members.items()}
        refused = await self._reach.unreachable(profiles)
        if membership.state is MemberState.ASSIGNING and membership.incarnation == incarnation:
            membership.assign(refused, epoch_floor=self._clocks.wall.now_ms())
            if refused:
                again = {member_id: profiles[member_id] for member_id in refused}
                self._tasks.spawn(self._look_again(again, membership.generation), name="fleet reach")

    async def _look_again(self, profiles: Mapping[str, MemberProfile], generation: int) -> None:
        """Join anew as soon as one of these can be reached, if this member still leads the same generation then."""
        while self.membership.generation == generation and self.membership.state is not MemberState.LEFT:
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
            unreachable = await self._reach.unreachable(profiles)
            if len(unreachable) < len(profiles) and self.membership.generation == generation:
                self.membership.join_anew()
                self._take_in(())

    async def _pause_after(self, answer: Answer) -> None:
        is_refused = isinstance(answer, Refused) and answer.error_code is not ErrorCode.MEMBER_ID_REQUIRED
        if is_refused or isinstance(answer, Unanswered) or self.membership.trouble:
            self._backoff.failed()
            self._note_refusal(answer.error_code if isinstance(answer, Refused) else None)
            await asyncio.sleep(self._backoff.remaining_ms / 1000)
        else:
            self._backoff.succeeded()
            self._refusal = None

    def _note_refusal(self, error_code: ErrorCode | None) -> None:
        self._refusal_count = self._refusal_count + 1 if error_code is self._refusal else 1
        self._refusal = error_code
        told_at = 1 if error_code in ADVICE else PERSISTENT_COUNT
        if error_code is not None and self._refusal_count == told_at:
            log.warning(
                "fleet_not_joined",
                group=self._coordinator.group_id,
                reason=error_code.name,
                advice=ADVICE.get(error_code, "it is asked again and again; the brokers' logs may say more"),
            )

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._has_left.set()
        self._pulse_wanted.set()

    # ------------------------------------------------ pulses

    async def _ask_pulses(self) -> None:
        sent_ms = -(1 << 40)
        while self.membership.state is not MemberState.LEFT:
            now_ms = self._clocks.lease.now_ms()
            pulse = self.membership.next_pulse()
            wait_ms = sent_ms + self.membership.pulse_interval_ms(now_ms) - now_ms
            if pulse is None or wait_ms > 0:
                await self._until_wanted(None if pulse is None else wait_ms)
                continue
            sent_ms = now_ms
            # A lease lasts for a second question when the first one is lost; a slow answer still carries it on.
            patience_ms = self.membership.limits.session_timeout_ms // 2
            self._hear(pulse, await self._coordinator.ask_pulse(pulse, patience_ms=patience_ms), sent_ms)

    async def _until_wanted(self, wait_ms: int | None) -> None:
        self._pulse_wanted.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(None if wait_ms is None else wait_ms / 1000):
                await self._pulse_wanted.wait()

    # ------------------------------------------------ what comes of it

    def _hear(self, question: Step | Pulse, answer: Answer, sent_ms: int) -> None:
        now_ms = self._clocks.lease.now_ms()
        self._take_in(self.membership.answered(question, answer, sent_ms=sent_ms, now_ms=now_ms))

    def _take_in(self, events: Sequence[FleetEvent]) -> None:
        for event in (*events, *self.membership.tick(self._clocks.lease.now_ms())):
            try:
                self._tell(event)
            except Exception as fault:  # noqa: BLE001 - a listener's fault must not cost the membership
                self._tasks.note_fault("fleet_listener", fault)
        if self._incarnation != self.membership.incarnation:
            self._incarnation = self.membership.incarnation
            self._coordinator.abandon_step()
        if self.membership.is_leaving and not self.membership.has_heirs:
            self._is_without_heirs.set()
        self._step_wanted.set()
        self._pulse_wanted.set()
        self._set_timer()

    def _tell(self, event: FleetEvent) -> None:
        match event:
            case MapChanged(fleet_map, gained):
                log.info(
                    "fleet_map",
                    epoch=fleet_map.epoch,
                    generation=self.membership.generation,
                    members=[member.name for member in fleet_map.members],
                    owned=len(self.membership.owned),
                    gained=len(gained),
                )
                self._note_refused_members(fleet_map)
                self._listener.map_changed(fleet_map, gained)
            case GiveUp(slots):
                log.info("fleet_slots_wanted", slots=sorted(slots))
                self._listener.give_up(slots)
            case SlotsLost(slots, reason):
                log.warning("fleet_slots_lost", lost=counted(len(slots), "slot"), reason=reason)
                self._listener.slots_lost(slots, reason)

    @property
    def _own_refusal(self) -> str | None:
        fleet_map = self.membership.fleet_map
        myself = None if fleet_map is None else fleet_map.member(self.membership.member_id)
        return None if myself is None else myself.refusal

    def _note_refused_members(self, fleet_map: FleetMap) -> None:
        """Warn of each that was not refused for the same reason before."""
        refused = {each: each.refusal for each in fleet_map.members if each.refusal is not None}
        for member, reason in refused.items():
            if self._refused_members.get(member.member_id) != reason:
                name = f"{member.name} ({member.member_id})"
                log.warning("fleet_member_refused", member=name, reason=reason, advice=REFUSED_ADVICE)
        self._refused_members = {member.member_id: reason for member, reason in refused.items()}

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        deadline_ms = self.membership.next_deadline_ms
        if deadline_ms is None or self.membership.state is MemberState.LEFT:
            return
        delay_ms = max(1, deadline_ms - self._clocks.lease.now_ms())
        self._timer = asyncio.get_running_loop().call_later(delay_ms / 1000, self._take_in, ())
