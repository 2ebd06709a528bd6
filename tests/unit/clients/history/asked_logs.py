"""Logs of hypothesis, as the questions of `kproxy.clients.history` take them: row after row."""

from collections.abc import Sequence
from typing import Any, Protocol

from kproxy.clients.history.silver_rows import SilverRow, SilverWriter
from kproxy.statelog.state_log_fold import StateLogFold
from tests.worlds.consumptions import Consumption


class Taking(Protocol):
    """A question."""

    def take(self, row: SilverRow) -> None: ...


def let_take(question: Taking, made: Sequence[Consumption]) -> list[StateLogFold]:
    """Let a question take all log partitions; return their folds."""
    writers = [SilverWriter(number) for number, _ in enumerate(made)]
    for writer, each in zip(writers, made, strict=True):
        for record in each.records:
            for row in writer.rows(record):
                question.take(row)
    return [writer.fold for writer in writers]


def audited(events: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return events in the form of `tests.worlds.consumption_facts`."""
    rows = [
        (
            *(row["groupId"], row["partition"], row["logOffset"], row["event"], row["firstOffset"]),
            # Of a merged write anybody may have moved the start offset.
            None if row["event"] == "start-offset-passed" else row["memberId"],
            row["endedBy"],
        )
        for row in events
    ]
    return sorted(rows, key=lambda row: (row[0].partition("-")[2], row[2], row[3]))
