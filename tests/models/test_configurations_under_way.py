"""What is in effect of configurations is what is durable, whether writes land, are refused, or go with their slot."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from hypothesis import example, given
from hypothesis import strategies as st

from kproxy.errors import NotCoordinator, PolicyViolation, StateNotWritten
from kproxy.handlers.groups.group_config_keys import GroupConfigBounds
from kproxy.handlers.groups.group_configs import ConfigChange, ConfigOperation, ConfigsUnderWay, GroupConfigs
from kproxy.statelog.group_queue import ConfigWrite
from kproxy.statelog.tickets import Append, Ticket
from tests.worlds.group_queue_log import GroupQueueLog

GROUPS = ("g", "h", "i")
MOST_GROUPS = 2
LOCK, RESET = "share.record.lock.duration.ms", "share.auto.offset.reset"


@dataclass(frozen=True)
class Alters:
    """Somebody sets a key of a group, or deletes it where there is no value."""

    group_id: str
    name: str
    value: str | None


@dataclass(frozen=True)
class Sends:
    """What waits is sent."""


@dataclass(frozen=True)
class Lands:
    """What was sent is durable."""


@dataclass(frozen=True)
class IsRefused:
    """What was sent is not in the log, and what waits is refused with it."""


@dataclass(frozen=True)
class GoesAndComes:
    """The slot is lost, at once or after what waits was written, and loaded again."""

    is_handed_over: bool


Step: TypeAlias = Alters | Sends | Lands | IsRefused | GoesAndComes
ALTERS = st.builds(
    Alters, st.sampled_from(GROUPS), st.just(LOCK), st.sampled_from(["20000", "30000", None])
) | st.builds(Alters, st.sampled_from(GROUPS), st.just(RESET), st.sampled_from(["earliest", "latest", None]))
STEP = st.one_of(
    ALTERS,
    ALTERS,
    ALTERS,
    st.just(Sends()),
    st.just(Lands()),
    st.just(IsRefused()),
    st.builds(GoesAndComes, st.booleans()),
)


class Scene:
    """Configurations, over the real queue of one slot."""

    def __init__(self) -> None:
        self.configs = GroupConfigs(GroupConfigBounds(), most_groups=MOST_GROUPS)
        self.configs.placed.arrange((), lambda _: 0, lambda _: 0)
        self.log = GroupQueueLog()
        self.sent: Append | None = None

    def take(self, step: Step) -> None:
        match step:
            case Alters(group_id, name, value):
                self._alter(group_id, name, value)
            case Sends():
                self._send()
            case Lands():
                self._land()
            case IsRefused() if self.sent is not None:
                self.sent = None
                while self.log.store.refuse(StateNotWritten("NOT_ENOUGH_REPLICAS")):
                    pass
            case GoesAndComes(is_handed_over):
                self._go_and_come(is_handed_over=is_handed_over)
            case _:
                pass

    def finish(self) -> None:
        """Let all that is under way land."""
        self._land()
        self._send()
        self._land()

    def _alter(self, group_id: str, name: str, value: str | None) -> None:
        operation = ConfigOperation.DELETE if value is None else ConfigOperation.SET
        try:
            begun = self.configs.begin(group_id, [ConfigChange(name, operation, value)])
        except PolicyViolation:
            assert len(self.configs.known_ids) >= MOST_GROUPS
            return
        ticket = self.log.store.submit(ConfigWrite(group_id, begun.values))
        ticket.on_done = partial(self._ended, begun)

    def _ended(self, begun: ConfigsUnderWay, ticket: Ticket) -> None:
        if ticket.refusal is None:
            self.configs.come_into_effect(begun)
        else:
            self.configs.give_up(begun)

    def _send(self) -> None:
        if self.sent is None:
            self.sent = self.log.draft()

    def _land(self) -> None:
        if self.sent is not None:
            sent, self.sent = self.sent, None
            self.log.land(sent)

    def _go_and_come(self, *, is_handed_over: bool) -> None:
        if is_handed_over:
            self._forget()
            self.finish()
        self.sent = None
        self.log.store.fail(NotCoordinator("it is another's"))
        self._forget()
        self.log.store = self.log.replayed()
        self.configs.restore_all(self.log.store.configs(), 0)

    def _forget(self) -> None:
        self.configs.forget_all(self.configs.placed.take(0))
        assert list(self.configs.known_ids) == []

    def in_effect(self) -> dict[str, dict[str, str]]:
        return {group_id: dict(self.configs.own_values(group_id)) for group_id in self.configs.group_ids}


@given(st.lists(STEP, min_size=1, max_size=30))
@example([Alters("g", LOCK, "20000"), Sends(), Alters("g", RESET, "earliest"), IsRefused(), Sends(), Lands()])
@example([Alters("g", LOCK, "20000"), Sends(), Alters("g", LOCK, None), GoesAndComes(is_handed_over=True)])
def test_what_groups_have_set_is_what_is_durable_after_every_step(steps: Sequence[Step]) -> None:
    scene = Scene()
    for step in steps:
        scene.take(step)
        assert scene.in_effect() == scene.log.replayed().configs()
        assert len(scene.in_effect()) <= MOST_GROUPS
    scene.finish()
    assert scene.in_effect() == scene.log.replayed().configs()
    assert set(scene.configs.known_ids) == set(scene.configs.group_ids)
    assert set(scene.configs.placed.take(0)) == set(scene.configs.group_ids)


def test_what_is_too_large_to_write_leaves_what_was_written_before_it_in_effect() -> None:
    # Given
    scene = Scene()
    scene.take(Alters("g", LOCK, "20000"))
    scene.take(Sends())
    scene.take(Alters("g", RESET, "earliest"))
    scene.take(Lands())

    # When
    assert scene.log.draft(max_bytes=1) is None

    # Then
    assert scene.in_effect() == scene.log.replayed().configs() == {"g": {LOCK: "20000"}}
    assert scene.configs.values_after("g", []) == {LOCK: "20000"}
