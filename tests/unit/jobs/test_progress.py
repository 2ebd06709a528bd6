"""What somebody sees who waits for a job."""

from collections.abc import Callable, Sequence

from kproxy.jobs.progress import FIRST_LINE_S, QUIET_S, Progress, TaskCounts

ERASED = "\r\x1b[K"


class Waiting:
    """A progress that stands at a time of the test's choice, and what it wrote."""

    def __init__(self, *, is_terminal: bool) -> None:
        self.now_s = 100.0
        self.written: list[str] = []
        self.progress = Progress(
            "audit", self.written.append, is_terminal=is_terminal, now_s=lambda: self.now_s
        )

    def at(self, elapsed_s: float) -> Sequence[str]:
        """What is written when a job has taken so long."""
        self.now_s = 100.0 + elapsed_s
        self.written.clear()
        self.progress.tick()
        return list(self.written)


def counted(done: int) -> Callable[[], TaskCounts]:
    return lambda: TaskCounts(done, 50)


def test_on_a_terminal_one_line_changes_and_is_gone_in_the_end() -> None:
    # Given
    waiting = Waiting(is_terminal=True)
    waiting.progress.begin("Spark is starting")

    # When
    shown = [waiting.at(QUIET_S / 2), waiting.at(2)]
    waiting.progress.begin("computing the answer", counted(14))
    shown += [waiting.at(12)]
    waiting.written.clear()
    waiting.progress.end()

    # Then
    assert shown == [
        [],
        [f"{ERASED}audit: Spark is starting (2 s)"],
        [f"{ERASED}audit: computing the answer, 14 of 50 tasks (12 s)"],
    ]
    assert waiting.written == [ERASED]


def test_what_is_said_meanwhile_has_a_line_of_its_own() -> None:
    # Given
    waiting = Waiting(is_terminal=True)
    waiting.progress.begin("reading the log")
    waiting.at(2)
    waiting.written.clear()

    # When
    waiting.progress.say("Warning: partition 3: offsets 1-2 are missing")

    # Then
    assert "".join(waiting.written) == f"{ERASED}Warning: partition 3: offsets 1-2 are missing\n"


def test_a_job_that_is_late_where_nobody_watches_says_what_it_does_and_then_ever_more_rarely() -> None:
    # Given
    waiting = Waiting(is_terminal=False)
    waiting.progress.begin("reading the log", counted(3))

    # When
    said = {second: "".join(waiting.at(second)) for second in range(100)}

    # Then
    assert {second: text for second, text in said.items() if text} == {
        10: "audit: reading the log, 3 of 50 tasks (10 s)\n",
        20: "audit: reading the log, 3 of 50 tasks (20 s)\n",
        40: "audit: reading the log, 3 of 50 tasks (40 s)\n",
        80: "audit: reading the log, 3 of 50 tasks (80 s)\n",
    }


def test_a_job_that_is_done_soon_says_nothing() -> None:
    # Given
    waiting = Waiting(is_terminal=False)
    waiting.at(FIRST_LINE_S - 1)

    # When
    waiting.progress.end()

    # Then
    assert waiting.written == []


def test_what_is_shown_ends_with_the_block_whatever_ends_that() -> None:
    # Given
    waiting = Waiting(is_terminal=True)

    # When
    try:
        with waiting.progress:
            waiting.at(2)
            raise ValueError  # noqa: TRY301 - whatever it is
    except ValueError:
        ended = list(waiting.written)
    waiting.progress.end()

    # Then
    assert ended[-1] == ERASED
    assert waiting.written == ended
    assert waiting.at(3) == [], "a tick that was under way shows nothing any more"
