"""Spark replays the state log in the end: three `kproxy replay` commands, and what they have to say.

They read Kafka itself, and `verify` the admin port of the kproxy that runs. Spark is started once for all of them, by
an analyst; each is shown as somebody would type it.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from kproxy.errors import ExitCode
from kproxy.wording import counted
from tests.demo.answers import (
    Answer,
    Row,
    Started,
    audit_redeliveries,
    audit_throughput,
    audit_verify,
    columns_of,
    fullest_rows,
    logged_endings,
    with_sessions_closed_as_released,
)
from tests.demo.book import Book
from tests.demo.failures import AnalystFailed
from tests.demo.ledger import BY_THE_KILL, Check, CutOffs, RecordId, tallies_of, together
from tests.demo.view import View

SHOWN_CELLS: Final = 5
TABLE_INDENT: Final = "    "
THROUGHPUT_TITLES: Final = (
    *("CLIENT-ID", "ACCEPTED", "RELEASED", "REJECTED", "LOCK-TIMEOUTS", "PER-SECOND"),
)
REDELIVERIES_TITLES: Final = ("TIME", "PARTITION", "FIRST-OFFSET", "RELEASED", "LOCK-TIMEOUTS")
"""What is shown of the tables: all of their columns would not fit."""


class Analyst(Protocol):
    """Who answers: `AnalystProcess`."""

    def wait_until_started(self) -> Started:
        """Return when Spark is there."""

    def ask(self, arguments: Sequence[str], /) -> Answer:
        """Return what `kproxy replay ARGUMENT…` came to."""


@dataclass(frozen=True, slots=True)
class Question:
    """A command: its arguments behind `kproxy replay`, what is said of its answer, and what is shown of its table."""

    arguments: Sequence[str]
    says: Callable[[Answer], str]
    titles: Sequence[str] = ()
    """The columns that are shown; without any, nothing is."""
    fullest_by: str | None = None
    """Only the rows with the highest numbers in this column."""

    @property
    def job(self) -> str:
        """The name of the job."""
        return self.arguments[0]

    @property
    def typed(self) -> str:
        """The command as it is typed, in lines of 80 columns."""
        command = f"  $ kproxy replay {' '.join(self.arguments)}"
        return command.replace(" --plot ", f" \\\n  {TABLE_INDENT}--plot ")

    def shown(self, answer: Answer) -> Iterator[str]:
        """Yield the lines that are shown of the table."""
        output = answer.output
        if self.fullest_by is not None:
            output = fullest_rows(output, self.fullest_by, SHOWN_CELLS)
        if self.titles:
            yield from (f"{TABLE_INDENT}{line}" for line in columns_of(output, self.titles))


def questions(backing_bootstrap_servers: str, admin_url: str, folder: Path) -> list[Question]:
    """Return what is asked: `verify`, `throughput` and `redeliveries`; the last two draw into `folder`."""
    log = ("-b", backing_bootstrap_servers)
    by_second = (*log, "--every", "1s")
    return [
        Question(("verify", *log, "--admin-url", admin_url), _said_of_verify),
        Question(
            ("throughput", *by_second, "--plot", str(folder / "throughput.png")),
            _said_of_throughput,
            THROUGHPUT_TITLES,
        ),
        Question(
            ("redeliveries", *by_second, "--plot", str(folder / "redeliveries.png")),
            _said_of_redeliveries,
            REDELIVERIES_TITLES,
            fullest_by="REDELIVERED",
        ),
    ]


def ask(view: View, analyst: Analyst, asked: Sequence[Question], folder: Path) -> list[Answer]:
    """Ask, show the answers, and leave the whole tables in `folder`; raises `AnalystFailed`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with view.step("Spark starts") as step:
        started = analyst.wait_until_started()
        step.text = (
            f"Spark {started.spark_version}, started meanwhile and once for all in {started.seconds:.1f} s"
        )
    return [_answer(view, analyst, question, folder) for question in asked]


def audit_answers(
    answers: Sequence[Answer], book: Book, finished: AbstractSet[RecordId], cut_offs: CutOffs = BY_THE_KILL
) -> list[Check]:
    """Hold the answers to `questions` against what the members said.

    `finished` are the records that are finished by the state log.
    """
    counted_so: Callable[[list[Row]], list[Row]] = (
        with_sessions_closed_as_released if cut_offs.may_close_sessions else list
    )
    verified, throughput, redeliveries = answers
    share_partitions = {record.partition for record in book.produced}
    endings = logged_endings(book.produced, book.deliveries, finished)
    redelivered = together(tallies_of(book.deliveries).values()).redelivered
    return [
        audit_verify(verified, len(share_partitions)),
        audit_throughput(counted_so(throughput.rows), endings),
        audit_redeliveries(counted_so(redeliveries.rows), endings, redelivered, cut_offs),
    ]


def _answer(view: View, analyst: Analyst, question: Question, folder: Path) -> Answer:
    view.say(question.typed)
    with view.step("Spark reads the log") as step:
        answer = analyst.ask(question.arguments)
        _require_answer(question.job, answer)
        step.text, step.is_good = question.says(answer), answer.exit_status == ExitCode.OK
    (folder / f"{question.job}.txt").write_text(answer.output)
    for line in question.shown(answer):
        view.say(line)
    return answer


def _require_answer(job: str, answer: Answer) -> None:
    last_line = (answer.errors.splitlines() or ["it did not say why"])[-1]
    if answer.exit_status not in {ExitCode.OK, ExitCode.CHECK_FAILED} or last_line.startswith("Error: "):
        raise AnalystFailed(f"kproxy replay {job} ended with status {answer.exit_status}: {last_line}")


def _said_of_verify(answer: Answer) -> str:
    found = answer.summary
    records, differences = (
        counted(found["records"], "record", ","),
        counted(found["differences"], "difference"),
    )
    return f"{records}: {differences}, {counted(found['violations'], 'violation')}"


def _said_of_throughput(answer: Answer) -> str:
    fairness = answer.summary["fairness"]
    if not fairness:
        return "nobody acknowledged anything"
    return f"Gini {fairness[0]['gini']:.2f} (0: all did as much, near 1: one did everything)"


def _said_of_redeliveries(answer: Answer) -> str:
    found = answer.summary
    size = f"{found['everyMs'] / 1000:.0f} s by {counted(found['offsets'], 'offset')}"
    return f"{found['rows']} cells of {size}, of which the fullest:"
