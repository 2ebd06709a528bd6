"""How Spark is asked, and how its answers are shown."""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest
from rich.console import Console

from tests.demo.answers import Answer, Started
from tests.demo.book import Book
from tests.demo.events import Delivered, Produced, ProducedRecord, Settled
from tests.demo.failures import AnalystFailed
from tests.demo.jobs import JobKind
from tests.demo.ledger import DeliveryId, Outcome, RecordId
from tests.demo.replaying import Question, ask, audit_answers, questions
from tests.demo.view import View

LONGEST_ADDRESS: Final = "127.0.0.1:65535"
RECORD: Final = RecordId(0, 0)

VERIFIED: Final = Answer(
    0,
    "KIND  LOG-PARTITION  DETAIL\n",
    json.dumps({"records": 1_234_567, "sharePartitions": 1, "differences": 0, "violations": 0}),
)
THROUGHPUT: Final = Answer(
    0,
    "GROUP-ID  MEMBER-ID               CLIENT-ID  CLIENT-HOST  ACCEPTED  RELEASED  REJECTED  GAPS"
    "  NOT-RECORDED  LOCK-TIMEOUTS  SESSION-CLOSES  LOG-START-MOVED  AT-DELIVERY-LIMIT  PER-SECOND\n"
    "workers   AAAAAAAAAAAAAAAAAAAAAA  alice      127.0.0.1    1         1         0         0   "
    "  0             0              0               0                0                  1234.567\n",
    json.dumps({"fairness": [{"groupId": "workers", "members": 1, "acknowledged": 2, "gini": 0.0}]}),
)
REDELIVERIES: Final = Answer(
    0,
    "TIME                  GROUP-ID  TOPIC-ID                TOPIC-NAME  PARTITION  FIRST-OFFSET  LAST-OFFSET"
    "  REDELIVERED  RELEASED  LOCK-TIMEOUTS\n"
    "2026-11-21T16:44:20Z  workers   AAAAAAAAAAAAAAAAAAAAAA  jobs        0          0             24         "
    "  1            1         0\n",
    json.dumps({"rows": 1, "everyMs": 1000, "offsets": 25}),
)


@dataclass
class AnalystInMemory:
    """Answers as it was told to, by the name of the job."""

    answers: Mapping[str, Answer]
    asked: list[Sequence[str]] = field(default_factory=list)

    def wait_until_started(self) -> Started:
        return Started("4.3.0", 5.25)

    def ask(self, arguments: Sequence[str], /) -> Answer:
        self.asked.append(arguments)
        return self.answers[arguments[0]]


def an_analyst(**other_answers: Answer) -> AnalystInMemory:
    answers = {"verify": VERIFIED, "throughput": THROUGHPUT, "redeliveries": REDELIVERIES}
    return AnalystInMemory(answers | other_answers)


def the_questions() -> list[Question]:
    return questions(LONGEST_ADDRESS, f"http://{LONGEST_ADDRESS}", Path("build/demo/replay"))


def a_view(output: io.StringIO) -> View:
    return View(Console(file=output, width=80, highlight=False, markup=False), started=0.0)


def a_book() -> Book:
    """Alice releases a record, and accepts it then."""
    book = Book(["alice"])
    book.note("producer", Produced([ProducedRecord(RECORD, JobKind.BUSY)]), 0.0)
    for count, outcome in enumerate((Outcome.RELEASED, Outcome.ACCEPTED), start=1):
        delivery = DeliveryId(RECORD, count)
        book.note("alice", Delivered([delivery]), 0.0)
        book.note("alice", Settled(outcome, [delivery], None), 0.0)
    return book


def test_each_command_is_shown_as_it_is_typed_with_what_fits_80_columns_of_its_answer(tmp_path: Path) -> None:
    # Given
    output = io.StringIO()

    # When
    ask(a_view(output), an_analyst(), the_questions(), tmp_path / "replay")

    # Then
    lines = output.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.rstrip(" 0.s") for line in lines] == [
        "  ✓ Spark 4.3.0, started meanwhile and once for all in 5.2",
        "  $ kproxy replay verify -b 127.0.0.1:65535 --admin-url http://127.0.0.1:65535",
        "  ✓ 1,234,567 records: 0 differences, 0 violation",
        "  $ kproxy replay throughput -b 127.0.0.1:65535 --every 1s \\",
        "      --plot build/demo/replay/throughput.png",
        "  ✓ Gini 0.00 (0: all did as much, near 1: one did everything)",
        "    CLIENT-ID  ACCEPTED  RELEASED  REJECTED  LOCK-TIMEOUTS  PER-SECOND",
        "    alice      1         1         0         0              1234.567",
        "  $ kproxy replay redeliveries -b 127.0.0.1:65535 --every 1s \\",
        "      --plot build/demo/replay/redeliveries.png",
        "  ✓ 1 cells of 1 s by 25 offsets, of which the fullest:",
        "    TIME                  PARTITION  FIRST-OFFSET  RELEASED  LOCK-TIMEOUTS",
        "    2026-11-21T16:44:20Z  0          0             1",
    ]


def test_the_whole_tables_are_left_in_the_folder_and_those_of_an_earlier_demo_are_not(tmp_path: Path) -> None:
    # Given
    folder = tmp_path / "replay"
    folder.mkdir()
    (folder / "throughput.png").touch()

    # When
    ask(a_view(io.StringIO()), an_analyst(), the_questions(), folder)

    # Then
    assert sorted(path.name for path in folder.iterdir()) == [
        "redeliveries.txt",
        "throughput.txt",
        "verify.txt",
    ]
    assert (folder / "throughput.txt").read_text() == THROUGHPUT.output


def test_answers_that_agree_with_the_members_break_no_rule() -> None:
    # When
    checks = audit_answers([VERIFIED, THROUGHPUT, REDELIVERIES], a_book(), {RECORD})

    # Then
    assert [check.evidence for check in checks if not check.holds] == []
    assert len(checks) == 3


def test_a_verification_that_finds_something_is_marked_and_is_an_answer(tmp_path: Path) -> None:
    # Given
    output = io.StringIO()
    found = Answer(5, "KIND  DETAIL\ndifference  x\n", VERIFIED.errors)

    # When
    answers = ask(a_view(output), an_analyst(verify=found), the_questions(), tmp_path / "replay")

    # Then
    assert answers[0].exit_status == 5
    assert "  ✗ 1,234,567 records" in output.getvalue()


@pytest.mark.parametrize("status", [4, 5])
def test_a_command_that_fails_fails_the_demo_with_its_last_line(status: int, tmp_path: Path) -> None:
    # Given
    failed = Answer(status, "", "Warning: slow\nError: cannot reach http://127.0.0.1:1\n")

    # When
    with pytest.raises(AnalystFailed) as failure:
        ask(a_view(io.StringIO()), an_analyst(verify=failed), the_questions(), tmp_path / "replay")

    # Then
    assert str(failure.value) == (
        f"kproxy replay verify ended with status {status}: Error: cannot reach http://127.0.0.1:1"
    )
