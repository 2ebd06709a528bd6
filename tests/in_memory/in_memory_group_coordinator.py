"""`InMemoryGroupCoordinator`: one group as Kafka's coordinators keep it, with time as an argument.

It follows `GroupCoordinator` (Kafka 2.8 to 3) and the classic groups of `GroupMetadataManager` (Kafka 4): member ids
that are required (KIP-394), the held first rebalance, joins that wait for every member, members removed by session and
by rebalance timeout, what a coordinator that takes over knows. The same contract runs against real brokers in
`tests/kafka`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final, TypeAlias

from kproxy.error_codes import ErrorCode
from kproxy.fleet.group_protocol import (
    Alive,
    Answer,
    Describe,
    Described,
    GroupState,
    Heartbeat,
    Join,
    Joined,
    Leave,
    Left,
    Pulse,
    Refused,
    RemoveDead,
    Step,
    Sync,
    Synced,
)

Respond: TypeAlias = Callable[[Answer], None]
"""Called once with the answer, which for a join or a sync may be much later."""


@dataclass(slots=True)
class _Member:
    metadata: bytes
    session_timeout_ms: int
    rebalance_timeout_ms: int
    expires_at_ms: int
    join: Respond | None = None
    sync: Respond | None = None
    assignment: bytes = b""


@dataclass(slots=True)
class _Stored:
    """What stands in `__consumer_offsets`."""

    generation: int = 0
    leader_id: str = ""
    members: Mapping[str, _Member] = field(default_factory=dict)


class InMemoryGroupCoordinator:
    """The coordinator of one group; `advance` lets time pass.

    `initial_delay_ms` is `group.initial.rebalance.delay.ms`.
    """

    def __init__(self, *, initial_delay_ms: int = 3_000, now_ms: int = 0) -> None:
        self.now_ms = now_ms
        self.state = GroupState.EMPTY
        self.generation = 0
        self.leader_id = ""
        self._initial_delay_ms = initial_delay_ms
        self._members: dict[str, _Member] = {}
        self._pending: dict[str, int] = {}
        self._numbers = count(1)
        self._stored = _Stored()
        self._loaded_at_ms = now_ms
        self._join_ends_ms: int | None = None
        self._initial_left_ms: int | None = None
        """How much longer the first rebalance may be held when it is asked again; None when it is not the first."""
        self._has_newcomer = False
        self._sync_ends_ms: int | None = None

    @property
    def member_ids(self) -> frozenset[str]:
        """All members."""
        return frozenset(self._members)

    # ------------------------------------------------ requests

    def ask(
        self,
        question: Step | Pulse,
        respond: Respond,
        *,
        client_id: str = "member",
        session_timeout_ms: int = 6_000,
        rebalance_timeout_ms: int = 10_000,
    ) -> None:
        """Take a request in; time has been advanced to its arrival."""
        if self.now_ms < self._loaded_at_ms:
            respond(_while_loading(question))
            return
        match question:
            case Join() if not question.member_id:
                self._promise_an_id(f"{client_id}-{next(self._numbers)}", respond, session_timeout_ms)
            case Join():
                self._join(question, respond, session_timeout_ms, rebalance_timeout_ms)
            case Sync():
                self._sync(question, respond)
            case _:
                respond(self._pulse(question))

    def admit(self, member_id: str) -> None:
        """Let a member join that waits for the answer as long as it takes."""
        self._pending[member_id] = self.now_ms
        self._join(Join(member_id, b""), lambda _: None, 6_000, 10_000)

    def fail_over(self, *, loading_ms: int) -> None:
        """Let another broker take over: it knows what was stored, and answers those who wait never."""
        stored = self._stored
        self._loaded_at_ms = self.now_ms + loading_ms
        self.generation, self.leader_id = stored.generation, stored.leader_id
        self._members = {
            member_id: replace(
                member, expires_at_ms=self._loaded_at_ms + member.session_timeout_ms, join=None, sync=None
            )
            for member_id, member in stored.members.items()
        }
        self.state = GroupState.STABLE if self._members else GroupState.EMPTY
        self._pending.clear()
        self._join_ends_ms = self._sync_ends_ms = self._initial_left_ms = None

    # ------------------------------------------------ time

    @property
    def next_timer_ms(self) -> int | None:
        """When something happens by the passing of time alone."""
        expiries = [
            member.expires_at_ms for member in self._members.values() if not (member.join or member.sync)
        ]
        ends = [each for each in (self._join_ends_ms, self._sync_ends_ms) if each is not None]
        return min([*expiries, *ends, *self._pending.values()], default=None)

    def advance(self, to_ms: int) -> None:
        """Let time pass, and everything happen that falls due, in its order."""
        while (due_ms := self.next_timer_ms) is not None and due_ms <= to_ms:
            self.now_ms = max(self.now_ms, due_ms)
            self._ring()
        self.now_ms = to_ms

    def _ring(self) -> None:
        now_ms = self.now_ms
        for member_id in [each for each, expires_at_ms in self._pending.items() if expires_at_ms <= now_ms]:
            del self._pending[member_id]
            self._complete_join_if_all_are_there()
        for member_id, member in list(self._members.items()):
            if member.expires_at_ms <= now_ms and not (member.join or member.sync):
                self._remove(member_id)
        if self._join_ends_ms is not None and self._join_ends_ms <= now_ms:
            self._end_waiting_for_joins()
        if self._sync_ends_ms is not None and self._sync_ends_ms <= now_ms:
            self._sync_ends_ms = None
            for member_id in [each for each, member in self._members.items() if not member.sync]:
                self._remove(member_id)

    # ------------------------------------------------ joins

    def _promise_an_id(self, member_id: str, respond: Respond, session_timeout_ms: int) -> None:
        self._pending[member_id] = self.now_ms + session_timeout_ms
        respond(Refused(ErrorCode.MEMBER_ID_REQUIRED, member_id))

    def _join(
        self, question: Join, respond: Respond, session_timeout_ms: int, rebalance_timeout_ms: int
    ) -> None:
        member_id = question.member_id
        if self._pending.pop(member_id, None) is not None:
            self._members[member_id] = _Member(b"", session_timeout_ms, rebalance_timeout_ms, 0)
            self.leader_id = self.leader_id or member_id
            # As Kafka 4 has it; before, only a group that never had a generation waited longer.
            self._has_newcomer = self._initial_left_ms is not None
            self._join_with(member_id, question.metadata, respond)
            return
        member = self._members.get(member_id)
        if member is None:
            respond(Refused(ErrorCode.UNKNOWN_MEMBER_ID))
        elif self._knows_already(member_id, question.metadata):
            respond(self._joined(member_id))
        else:
            self._join_with(member_id, question.metadata, respond)

    def _knows_already(self, member_id: str, metadata: bytes) -> bool:
        is_same = self._members[member_id].metadata == metadata
        if self.state is GroupState.STABLE:
            return is_same and member_id != self.leader_id
        return is_same and self.state is GroupState.COMPLETING_REBALANCE

    def _join_with(self, member_id: str, metadata: bytes, respond: Respond) -> None:
        member = self._members[member_id]
        member.metadata, member.join = metadata, respond
        self._prepare_rebalance()

    def _prepare_rebalance(self) -> None:
        if self.state is not GroupState.PREPARING_REBALANCE:
            self._sync_ends_ms = None
            for member in self._members.values():
                sync, member.sync = member.sync, None
                if sync is not None:
                    member.expires_at_ms = self.now_ms + member.session_timeout_ms
                    sync(Refused(ErrorCode.REBALANCE_IN_PROGRESS))
            is_first = self.state is GroupState.EMPTY
            self.state = GroupState.PREPARING_REBALANCE
            timeout_ms = max(member.rebalance_timeout_ms for member in self._members.values())
            wait_ms = self._initial_delay_ms if is_first else timeout_ms
            self._join_ends_ms = self.now_ms + wait_ms
            self._initial_left_ms = max(timeout_ms - wait_ms, 0) if is_first else None
        self._complete_join_if_all_are_there()

    def _complete_join_if_all_are_there(self) -> None:
        if self.state is not GroupState.PREPARING_REBALANCE:
            return
        is_held = self._initial_left_ms is not None and self._initial_delay_ms > 0
        if is_held or self._pending or any(member.join is None for member in self._members.values()):
            return
        self._complete_join()

    def _end_waiting_for_joins(self) -> None:
        if self._initial_left_ms and self._has_newcomer:
            self._has_newcomer = False
            more_ms = min(self._initial_delay_ms, self._initial_left_ms)
            self._join_ends_ms = self.now_ms + more_ms
            self._initial_left_ms -= more_ms
            return
        for member_id in [each for each, member in self._members.items() if member.join is None]:
            self._drop(member_id)
        self._complete_join()

    def _complete_join(self) -> None:
        self._join_ends_ms = self._initial_left_ms = None
        self.generation += 1
        if not self._members:
            self._become_empty()
            return
        self.state = GroupState.COMPLETING_REBALANCE
        self._sync_ends_ms = self.now_ms + max(
            member.rebalance_timeout_ms for member in self._members.values()
        )
        waiting = {member_id: member.join for member_id, member in self._members.items()}
        for member in self._members.values():
            member.join, member.expires_at_ms = None, self.now_ms + member.session_timeout_ms
        for member_id, join in waiting.items():
            if join is not None:
                join(self._joined(member_id))

    def _joined(self, member_id: str) -> Joined:
        is_leader = member_id == self.leader_id
        metadata = {each: member.metadata for each, member in self._members.items()} if is_leader else {}
        return Joined(member_id, self.generation, self.leader_id, metadata)

    # ------------------------------------------------ syncs, heartbeats, leaving

    def _pulse(self, question: Pulse | Leave) -> Answer:
        match question:
            case Heartbeat():
                return self._heartbeat(question)
            case Describe():
                return Described(self.state.value, self.member_ids)
            case Leave() | RemoveDead():
                leaving = question.dead if isinstance(question, RemoveDead) else {question.member_id}
                for member_id in leaving:
                    self._leave(member_id)
                return Left()

    def _sync(self, question: Sync, respond: Respond) -> None:
        member = self._members.get(question.member_id)
        if member is None:
            respond(Refused(ErrorCode.UNKNOWN_MEMBER_ID))
        elif question.generation != self.generation:
            respond(Refused(ErrorCode.ILLEGAL_GENERATION))
        elif self.state is GroupState.PREPARING_REBALANCE:
            respond(Refused(ErrorCode.REBALANCE_IN_PROGRESS))
        elif self.state is GroupState.STABLE:
            member.expires_at_ms = self.now_ms + member.session_timeout_ms
            respond(Synced(member.assignment))
        else:
            member.sync = respond
            if question.member_id == self.leader_id:
                self._settle(question.assignments)

    def _settle(self, assignments: Mapping[str, bytes]) -> None:
        self.state, self._sync_ends_ms = GroupState.STABLE, None
        waiting = {member_id: member.sync for member_id, member in self._members.items()}
        for member_id, member in self._members.items():
            member.assignment = assignments.get(member_id, b"")
            member.sync, member.expires_at_ms = None, self.now_ms + member.session_timeout_ms
        self._store()
        for member_id, sync in waiting.items():
            if sync is not None:
                sync(Synced(assignments.get(member_id, b"")))

    def _heartbeat(self, question: Heartbeat) -> Answer:
        member = self._members.get(question.member_id)
        if member is None:
            return Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        if question.generation != self.generation:
            return Refused(ErrorCode.ILLEGAL_GENERATION)
        member.expires_at_ms = self.now_ms + member.session_timeout_ms
        is_preparing = self.state is GroupState.PREPARING_REBALANCE
        return Refused(ErrorCode.REBALANCE_IN_PROGRESS) if is_preparing else Alive()

    def _leave(self, member_id: str) -> None:
        if self._pending.pop(member_id, None) is not None:
            self._complete_join_if_all_are_there()
        elif member_id in self._members:
            self._remove(member_id)

    def _remove(self, member_id: str) -> None:
        join = self._drop(member_id)
        if join is not None:
            join(Refused(ErrorCode.UNKNOWN_MEMBER_ID))
        if not self._members:
            self._join_ends_ms = self._sync_ends_ms = self._initial_left_ms = None
            self.generation += 1
            self._become_empty()
        elif self.state is GroupState.PREPARING_REBALANCE:
            self._complete_join_if_all_are_there()
        else:
            self._prepare_rebalance()

    def _drop(self, member_id: str) -> Respond | None:
        member = self._members.pop(member_id)
        if member_id == self.leader_id:
            joined = [each for each, other in self._members.items() if other.join is not None]
            self.leader_id = next(iter([*joined, *self._members]), "")
        return member.join

    def _become_empty(self) -> None:
        self.state, self.leader_id = GroupState.EMPTY, ""
        self._store()

    def _store(self) -> None:
        members = {member_id: replace(member) for member_id, member in self._members.items()}
        self._stored = _Stored(self.generation, self.leader_id, members)


_LOADING: Final = Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


def _while_loading(question: Step | Pulse) -> Answer:
    """A heartbeat is answered without a look, whoever sends it; a sync begins anew."""
    if isinstance(question, Heartbeat):
        return Alive()
    return Refused(ErrorCode.REBALANCE_IN_PROGRESS) if isinstance(question, Sync) else _LOADING
