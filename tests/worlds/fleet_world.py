"""`FleetWorld`: processes with their memberships, a coordinator, and a network that delays and loses what they say."""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.fleet.events import FleetEvent, GiveUp
from kproxy.fleet.fleet_map import FleetMap
from kproxy.fleet.group_protocol import Answer, Described, Pulse, Refused, Step, Unanswered
from kproxy.fleet.limits import FleetLimits
from kproxy.fleet.member_metadata import MemberProfile
from kproxy.fleet.member_state import MemberState
from kproxy.fleet.membership import Membership
from tests.in_memory.in_memory_group_coordinator import InMemoryGroupCoordinator

LIMITS: Final = FleetLimits()
STEP_TIMEOUT_MS: Final = 15_000
PULSE_TIMEOUT_MS: Final = 3_000
PAUSE_MS: Final = 100
"""After a step that was refused, or not answered."""


def profile(name: str, *, slot_count: int = 8) -> MemberProfile:
    """Return a process of that name."""
    return MemberProfile(f"token of {name}", name, "127.0.0.1", 19_099, "1.0", 1, slot_count)


@dataclass(slots=True)
class _Lane:
    """What is asked one at a time on one connection."""

    question: Step | Pulse | None = None
    sent_ms: int = -1_000_000
    number: int = 0
    free_at_ms: int = 0


@dataclass(slots=True)
class Process:
    """One kproxy: what it asks, and how its connection is."""

    name: str
    membership: Membership
    steps: _Lane = field(default_factory=_Lane)
    pulses: _Lane = field(default_factory=_Lane)
    events: list[FleetEvent] = field(default_factory=list)
    host: int = 0
    """Processes of one host see which of them are dead."""
    is_alive: bool = True
    is_paused: bool = False
    request_delay_ms: int = 0
    answer_delay_ms: int = 0
    loses_requests: bool = False
    loses_answers: bool = False
    loses_steps: bool = False
    """Whether the connection for steps hangs while that for pulses works."""
    give_up_delay_ms: int | None = 20
    """None gives up nothing."""
    incarnation: int = 0
    backlog: list[Callable[[], None]] = field(default_factory=list)
    """What came while it was paused."""

    @property
    def asked_to_give_up(self) -> frozenset[int]:
        """What the last map asks of it."""
        fleet_map = self.membership.fleet_map
        return frozenset() if fleet_map is None else fleet_map.leaving(self.membership.member_id)

    def slots(self, now_ms: int) -> frozenset[int]:
        """Return what it may serve; a process that was killed serves nothing, one that is paused may."""
        if not self.is_alive:
            return frozenset()
        slot_count = self.membership.profile.slot_count
        return frozenset(slot for slot in range(slot_count) if self.membership.may_serve(slot, now_ms))


class FleetWorld:
    """Time goes from event to event; `check` is called after each, and raises AssertionError if two serve one slot."""

    def __init__(
        self, *, slot_count: int = 8, initial_delay_ms: int = 3_000, limits: FleetLimits = LIMITS
    ) -> None:
        self.now_ms = 0
        self.slot_count = slot_count
        self.coordinator = InMemoryGroupCoordinator(initial_delay_ms=initial_delay_ms)
        self.processes: list[Process] = []
        self._limits = limits
        self._order = count()
        self._due: list[tuple[int, int, Callable[[], None]]] = []

    # ------------------------------------------------ what tests do

    def start(self, name: str | None = None, *, host: int = 0) -> Process:
        """Start a process."""
        name = name or f"kproxy-{len(self.processes)}"
        membership = Membership(
            profile(name, slot_count=self.slot_count), self._limits, first_epoch=1_000_000 + self.now_ms
        )
        process = Process(name, membership, host=host)
        self.processes.append(process)
        self._pump_all()
        return process

    def kill(self, process: Process) -> None:
        """End it like kill -9."""
        process.is_alive = False
        self.check()

    def pause(self, process: Process) -> None:
        """Stop it like SIGSTOP."""
        process.is_paused = True

    def resume(self, process: Process) -> None:
        """Let it go on: it sees what came meanwhile, and that time has passed."""
        process.is_paused = False
        backlog, process.backlog = process.backlog, []
        for arrive in backlog:
            arrive()
        self._pump_all()

    def leave(self, process: Process) -> None:
        """End it in order."""
        self._tell(process, process.membership.begin_leaving())
        self._pump_all()

    def heal(self) -> None:
        """Let every connection be quick again, and every process run."""
        for process in self.processes:
            process.request_delay_ms = process.answer_delay_ms = 0
            process.loses_requests = process.loses_answers = process.loses_steps = False
            process.give_up_delay_ms = 20
            self._later(20, partial(self._give_up, process, process.asked_to_give_up))
            if process.is_paused:
                self.resume(process)
        self._pump_all()

    def advance(self, by_ms: int) -> None:
        """Let time pass."""
        end_ms = self.now_ms + by_ms
        while (next_ms := self._next_ms()) <= end_ms:
            self.now_ms = max(self.now_ms, next_ms)
            self.coordinator.advance(self.now_ms)
            while self._due and self._due[0][0] <= self.now_ms:
                heapq.heappop(self._due)[2]()
            self._pump_all()
        self.now_ms = end_ms
        self.coordinator.advance(end_ms)
        self._pump_all()

    # ------------------------------------------------ what is so

    @property
    def members(self) -> Sequence[Process]:
        """The processes that are to share the slots."""
        return [each for each in self.processes if each.is_alive and not each.membership.is_leaving]

    def owners(self) -> dict[int, str]:
        """Return who may serve each slot."""
        return {
            slot: process.name for process in self.processes for slot in sorted(process.slots(self.now_ms))
        }

    def counts(self) -> list[int]:
        """Return how many slots each member may serve, in rising order."""
        return sorted(len(process.slots(self.now_ms)) for process in self.members)

    def fleet_map(self) -> FleetMap:
        """Return the map that all members agree on."""
        maps = {process.membership.fleet_map for process in self.members}
        assert len(maps) == 1, maps
        (fleet_map,) = maps
        assert fleet_map is not None
        return fleet_map

    def check(self) -> None:
        """See that no two processes may serve one slot."""
        owners: dict[int, str] = {}
        for process in self.processes:
            for slot in process.slots(self.now_ms):
                assert slot not in owners, f"{owners[slot]} and {process.name} serve slot {slot}"
                owners[slot] = process.name

    # ------------------------------------------------ how it goes on

    def _next_ms(self) -> int:
        times = [self._due[0][0] if self._due else None, self.coordinator.next_timer_ms]
        for process in self.processes:
            if process.is_alive and not process.is_paused:
                times += self._times_of(process)
        return min((each for each in times if each is not None), default=1 << 60)

    def _times_of(self, process: Process) -> list[int | None]:
        membership = process.membership
        steps = process.steps
        wants_pulse = process.pulses.question is not None or membership.next_pulse() is not None
        is_after_pause = steps.question is None and steps.free_at_ms > self.now_ms
        return [
            membership.next_deadline_ms,
            steps.sent_ms + STEP_TIMEOUT_MS if steps.question is not None else None,
            steps.free_at_ms if is_after_pause else None,
            self._pulse_due_ms(process) if wants_pulse else None,
        ]

    def _pulse_due_ms(self, process: Process) -> int:
        pulses = process.pulses
        if pulses.question is not None:
            return pulses.sent_ms + PULSE_TIMEOUT_MS
        return pulses.sent_ms + process.membership.pulse_interval_ms(self.now_ms)

    def _pump_all(self) -> None:
        for process in self.processes:
            if process.is_alive and not process.is_paused:
                self._pump(process)
        self.check()

    def _pump(self, process: Process) -> None:
        membership = process.membership
        self._tell(process, membership.tick(self.now_ms))
        if process.incarnation != membership.incarnation:
            process.incarnation = membership.incarnation
            process.steps.question = None
            process.steps.free_at_ms = self.now_ms
        for lane, timeout_ms in ((process.steps, STEP_TIMEOUT_MS), (process.pulses, PULSE_TIMEOUT_MS)):
            if lane.question is not None and self.now_ms >= lane.sent_ms + timeout_ms:
                self._arrive(process, lane, lane.number, Unanswered())
        if membership.state is MemberState.ASSIGNING:
            membership.assign({}, epoch_floor=1_000_000 + self.now_ms)
        if process.steps.question is None and self.now_ms >= process.steps.free_at_ms:
            self._ask(process, process.steps, membership.take_step())
        if process.pulses.question is None and self.now_ms >= self._pulse_due_ms(process):
            self._ask(process, process.pulses, membership.next_pulse())

    def _ask(self, process: Process, lane: _Lane, question: Step | Pulse | None) -> None:
        if question is None:
            return
        lane.question, lane.sent_ms, lane.number = question, self.now_ms, next(self._order)
        if not (process.loses_requests or (process.loses_steps and lane is process.steps)):
            number = lane.number
            self._later(process.request_delay_ms, lambda: self._reach(process, lane, number, question))

    def _reach(self, process: Process, lane: _Lane, number: int, question: Step | Pulse) -> None:
        def respond(answer: Answer) -> None:
            if not process.loses_answers:
                self._later(process.answer_delay_ms, lambda: self._arrive(process, lane, number, answer))

        self.coordinator.advance(self.now_ms)
        self.coordinator.ask(
            question,
            respond,
            client_id=process.name,
            session_timeout_ms=self._limits.session_timeout_ms,
            rebalance_timeout_ms=self._limits.rebalance_timeout_ms,
        )

    def _arrive(self, process: Process, lane: _Lane, number: int, answer: Answer) -> None:
        if process.is_paused:
            process.backlog.append(lambda: self._arrive(process, lane, number, answer))
            return
        if lane.question is None or lane.number != number or not process.is_alive:
            return
        question, lane.question = lane.question, None
        if isinstance(answer, Described):
            answer = replace(answer, dead=self._known_dead(process, answer.member_ids))
        events = process.membership.answered(question, answer, sent_ms=lane.sent_ms, now_ms=self.now_ms)
        self._tell(process, events)
        lane.free_at_ms = self.now_ms + _pause_ms(answer)
        self._pump_all()

    def _known_dead(self, process: Process, member_ids: frozenset[str]) -> frozenset[str]:
        dead = {each.name for each in self.processes if each.host == process.host and not each.is_alive}
        return frozenset(each for each in member_ids if each.rpartition("-")[0] in dead)

    def _tell(self, process: Process, events: Sequence[FleetEvent]) -> None:
        process.events += events
        for event in events:
            if isinstance(event, GiveUp) and process.give_up_delay_ms is not None:
                self._later(process.give_up_delay_ms, partial(self._give_up, process, event.slots))

    def _give_up(self, process: Process, slots: frozenset[int]) -> None:
        if process.is_paused:
            process.backlog.append(lambda: self._give_up(process, slots))
        elif process.is_alive and (still := slots & process.membership.owned):
            process.membership.gave_up(still)

    def _later(self, delay_ms: int, happen: Callable[[], None]) -> None:
        heapq.heappush(self._due, (self.now_ms + delay_ms, next(self._order), happen))


def _pause_ms(answer: Answer) -> int:
    if isinstance(answer, Refused) and answer.error_code is not ErrorCode.MEMBER_ID_REQUIRED:
        return PAUSE_MS
    return PAUSE_MS if isinstance(answer, Unanswered) else 0
