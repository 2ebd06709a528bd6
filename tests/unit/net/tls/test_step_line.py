"""What takes TLS long is done in a bounded part of each turn of the loop, in its order, and nobody stops the line."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from kproxy.net.tls.step_line import LONG_SECONDS, Row, StepLine, step_line_of_this_loop

BOUND = 4


@dataclass
class Line:
    """A line, the clock that it has, and who has taken a step in which turn of the loop."""

    now_s: float = 0.0
    turn: int = 0
    steps: list[str] = field(default_factory=list)
    taken_in: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.line = StepLine(BOUND, seconds=lambda: self.now_s)

    def begin(self, name: str, row: Row = Row.STRANGERS, *, seconds: float = 0.0) -> "Step":
        """Let somebody come whose step takes so long."""
        step = Step(self, name, seconds)
        self.line.begin(step, row)
        return step

    async def go_on(self, turns: int = 20) -> None:
        """Let so many turns of the loop pass."""
        for _ in range(turns):
            self.turn += 1
            await asyncio.sleep(0)

    @property
    def count_by_turn(self) -> list[int]:
        """How many steps were taken in each turn that had some."""
        return [count for _, count in sorted(Counter(self.taken_in).items())]


@dataclass(eq=False)
class Step:
    """Notes that it is taken."""

    world: Line
    name: str
    seconds: float

    def take_step(self) -> None:
        """Take it."""
        self.world.now_s += self.seconds
        self.world.steps.append(self.name)
        self.world.taken_in.append(self.world.turn)


class Failing(Step):
    """Raises."""

    def take_step(self) -> None:
        super().take_step()
        raise ValueError(self.name)


async def test_who_comes_alone_takes_a_step_at_once() -> None:
    world = Line()

    world.begin("alone")

    assert world.steps == ["alone"]
    assert len(world.line) == 0


async def test_of_many_that_come_together_so_many_take_a_step_in_a_turn_in_their_order() -> None:
    # Given
    world = Line()

    # When
    for number in range(3 * BOUND):
        world.begin(str(number))
    await world.go_on()

    # Then
    assert world.steps == [str(number) for number in range(3 * BOUND)]
    assert world.count_by_turn == [BOUND] * 3


async def test_no_step_is_taken_in_a_turn_behind_those_that_took_long_in_it() -> None:
    # Given
    world = Line()

    # When
    for number, seconds in enumerate([1.1, 0.7, 0.7, 0.7, 0.1, 0.1, 0.1]):
        world.begin(str(number), seconds=seconds * LONG_SECONDS)
    await world.go_on()

    # Then
    assert world.steps == [str(number) for number in range(7)]
    assert world.count_by_turn == [1, 2, 4]


async def test_each_burst_is_spread_out_like_the_first_one() -> None:
    world = Line()

    for burst in range(3):
        for number in range(BOUND + 1):
            world.begin(f"{burst}.{number}")
        await world.go_on()

    assert world.count_by_turn == [BOUND, 1] * 3


async def test_in_each_row_somebody_goes_on_however_many_wait_in_others() -> None:
    # Given
    world = Line()
    for _ in range(BOUND):
        world.begin("at once")
    for row in (Row.STRANGERS, Row.COSTLY, Row.ANSWERED, Row.OWN):
        for number in range(3):
            world.begin(f"{row.name.lower()} {number}", row)

    # When
    await world.go_on()

    # Then
    assert world.steps[BOUND:] == [
        "own 0",
        "answered 0",
        "own 1",
        "strangers 0",
        "own 2",
        "answered 1",
        "costly 0",
        "answered 2",
        "strangers 1",
        "costly 1",
        "strangers 2",
        "costly 2",
    ]


async def test_who_has_left_takes_no_step_and_nobodys_place() -> None:
    # Given
    world = Line()
    for _ in range(BOUND):
        world.begin("at once")
    leaving, staying = world.begin("leaving"), world.begin("staying")

    # When
    world.line.leave(leaving)
    world.line.leave(leaving)
    waiting_count = len(world.line)
    await world.go_on()

    # Then
    assert waiting_count == 1
    assert world.steps[BOUND:] == [staying.name]
    assert len(world.line) == 0


async def test_who_stands_again_in_its_step_takes_the_next_one_behind_those_who_wait() -> None:
    # Given
    world = Line()

    class Standing(Step):
        def take_step(self) -> None:
            super().take_step()
            if world.steps.count(self.name) < 3:
                world.line.stand(self, Row.COSTLY)

    # When
    for name in ("a", "b"):
        world.line.stand(Standing(world, name, 0.0), Row.COSTLY)
    await world.go_on()

    # Then
    assert world.steps == ["a", "b"] * 3
    assert world.count_by_turn == [BOUND, 2]


async def test_a_step_that_raises_is_told_of_and_those_behind_it_go_on() -> None:
    # Given
    world, told = Line(), list[str]()
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: told.append(str(context["exception"]))
    )
    for _ in range(BOUND):
        world.begin("at once")

    # When
    world.line.begin(Failing(world, "failing", 0.0), Row.STRANGERS)
    world.begin("behind")
    await world.go_on()

    # Then
    assert told == ["failing"]
    assert world.steps[BOUND:] == ["failing", "behind"]


def test_each_loop_has_one_line() -> None:
    async def both() -> tuple[StepLine, StepLine]:
        return step_line_of_this_loop(), step_line_of_this_loop()

    first, second = asyncio.run(both()), asyncio.run(both())

    assert first[0] is first[1]
    assert second[0] is second[1]
    assert first[0] is not second[0]
