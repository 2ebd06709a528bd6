"""What Spark makes of the state log, held against what the members said. Pure.

The log has every acknowledgement that was answered and every lock that ran out. Of a delivery that the kill cut off it
has nothing, because who holds a record is not durable; unless its acknowledgement was durable already and only the
answer was lost: then it has what the member would have been told.
"""

import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from tests.demo.jobs import JobKind, verdict_on
from tests.demo.ledger import (
    OUTCOME_OF_VERDICT,
    Check,
    CutOffs,
    Delivery,
    Outcome,
    RecordId,
    claim_that,
    histories_of,
)

TITLE_OF_OUTCOME: Final = {
    Outcome.ACCEPTED: "ACCEPTED",
    Outcome.RELEASED: "RELEASED",
    Outcome.REJECTED: "REJECTED",
    Outcome.TIMED_OUT: "LOCK-TIMEOUTS",
}
"""The columns of the tables of `throughput`, and but for the rejected ones of `redeliveries`."""
NEVER: Final = ("GAPS", "NOT-RECORDED", "SESSION-CLOSES", "LOG-START-MOVED", "AT-DELIVERY-LIMIT")
"""The columns of what does not happen: members leave with nothing in hand, nothing is tried ten times or expires."""

Counted = TypeVar("Counted")
Row: TypeAlias = Mapping[str, str]
"""A row of a table, by the titles of its columns."""


@dataclass(frozen=True, slots=True)
class Started:
    """An analyst has started Spark."""

    spark_version: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What a `kproxy replay` command came to: its exit status, its standard output, and its standard error."""

    exit_status: int
    output: str
    errors: str

    @property
    def summary(self) -> Mapping[str, Any]:
        """The closing summary: the last line of the standard error."""
        summary: Mapping[str, Any] = json.loads(self.errors.splitlines()[-1])
        return summary

    @property
    def rows(self) -> list[Row]:
        """The rows of the table."""
        titles, *rows = (line.split() for line in self.output.splitlines())
        return [dict(zip(titles, cells, strict=True)) for cells in rows]


def columns_of(output: str, titles: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a table with these of its columns only."""
    lines = output.splitlines()
    found = list(re.finditer(r"\S+", lines[0]))
    ends = [title.start() for title in found[1:]] + [max(map(len, lines))]
    spans = {title[0]: (title.start(), end) for title, end in zip(found, ends, strict=True)}
    for line in lines:
        cells = (line[first:end].ljust(end - first) for first, end in (spans[title] for title in titles))
        yield "".join(cells).rstrip()


def fullest_rows(output: str, title: str, most: int) -> str:
    """Return a table with at most so many of its rows: those with the highest numbers in a column, highest first."""
    header, *lines = output.splitlines()
    column = header.split().index(title)
    fullest = sorted(lines, key=lambda line: int(line.split()[column]), reverse=True)[:most]
    return "\n".join([header, *fullest])


def audit_verify(answer: Answer, share_partitions: int) -> Check:
    """Whether the log says what the running kproxy believes, of every share-partition."""
    found = answer.summary
    is_whole = found["sharePartitions"] == share_partitions
    details = [line.strip() for line in answer.output.splitlines()[1:]]
    return Check(
        f"the running kproxy holds of {found['sharePartitions']} share-partitions what the state log says",
        holds=answer.exit_status == 0 and is_whole,
        evidence="; ".join(details[:1]) or ("" if is_whole else f"expected {share_partitions}"),
    )


def logged_endings(
    produced: Mapping[RecordId, JobKind], deliveries: Iterable[Delivery], finished: AbstractSet[RecordId]
) -> Counter[tuple[str, Outcome]]:
    """Return how many deliveries of each member ended how, by what the log has to have of each: CUT_OFF is nothing."""
    endings: Counter[tuple[str, Outcome]] = Counter()
    for record, history in histories_of(deliveries).items():
        kind = produced[record] if record in finished else None
        for delivery, following in itertools.zip_longest(history, history[1:]):
            is_cut_off = delivery.outcome is Outcome.CUT_OFF
            ending = _durable_ending(delivery, following, kind) if is_cut_off else delivery.outcome
            endings[delivery.member, ending] += 1
    return endings


def _durable_ending(cut_off: Delivery, following: Delivery | None, kind: JobKind | None) -> Outcome:
    """Return what the log has of a delivery that the kill cut off; `kind` is that of a finished record."""
    if following is not None:
        # The next one counts on from this one only if its record was given back.
        is_counted = following.id.delivery_count > cut_off.id.delivery_count
        return Outcome.RELEASED if is_counted else Outcome.CUT_OFF
    if kind is None:
        return Outcome.CUT_OFF
    return OUTCOME_OF_VERDICT[verdict_on(kind, delivery_count=cut_off.id.delivery_count)]


def audit_throughput(rows: Iterable[Row], endings: Mapping[tuple[str, Outcome], int]) -> Check:
    """Whether the log counts for each member what `endings` say; `rows` are those of `throughput`."""
    counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        counted[row["CLIENT-ID"]].update(_numbers(row, (*TITLE_OF_OUTCOME.values(), *NEVER)))
    members = sorted(counted.keys() | {member for member, _ in endings})
    offenders = [offence for name in members for offence in _offences(name, counted[name], endings)]
    total = _summed(counted.values())
    parts = [f"{total[title]:,} {outcome.value}" for outcome, title in TITLE_OF_OUTCOME.items()]
    return claim_that(f"Spark counts of each member what it says itself: {' + '.join(parts)}", offenders)


def _offences(
    member: str, counted: Mapping[str, int], endings: Mapping[tuple[str, Outcome], int]
) -> Iterator[str]:
    for outcome, title in TITLE_OF_OUTCOME.items():
        said = endings.get((member, outcome), 0)
        if said != counted[title]:
            yield f"{member} {said:,} {outcome.value}, the log {counted[title]:,}"
    yield from (f"{member} {counted[title]:,} {title}" for title in NEVER if counted[title])


def with_sessions_closed_as_released(rows: Iterable[Row]) -> list[Row]:
    """Return rows in which those records count as released that a member lost with its connection to a kproxy.

    So it is when there are several: who serves the group lives on, and gives back what such a member held. The
    `logged_endings` say of these what they say of a release whose answer was lost.
    """
    return [
        {**row, "RELEASED": str(int(row["RELEASED"]) + int(row["SESSION-CLOSES"])), "SESSION-CLOSES": "0"}
        for row in rows
    ]


def audit_redeliveries(
    rows: Iterable[Row], endings: Mapping[tuple[str, Outcome], int], redelivered: int, cut_offs: CutOffs
) -> Check:
    """Whether the log and what cut deliveries off explain all that members got not for the first time."""
    total = _summed(_numbers(row, ("REDELIVERED", "RELEASED", "LOCK-TIMEOUTS")) for row in rows)
    said = _summed(Counter({outcome: count}) for (_, outcome), count in endings.items())
    claim = (
        f"{redelivered:,} delivered again = {total['REDELIVERED']:,} by Spark's count + "
        f"{said[Outcome.CUT_OFF]:,} cut off {cut_offs.by}"
    )
    offenders = [
        f"{said[outcome]:,} {outcome.value}, the log {total[TITLE_OF_OUTCOME[outcome]]:,}"
        for outcome in (Outcome.RELEASED, Outcome.TIMED_OUT)
        if said[outcome] != total[TITLE_OF_OUTCOME[outcome]]
    ]
    if redelivered != total["REDELIVERED"] + said[Outcome.CUT_OFF]:
        offenders.append("that is not the sum")
    return claim_that(claim, offenders)


def _summed(counters: Iterable[Counter[Counted]]) -> Counter[Counted]:
    total: Counter[Counted] = Counter()
    for one in counters:
        total.update(one)
    return total


def _numbers(row: Row, titles: Iterable[str]) -> Counter[str]:
    return Counter({title: int(row[title]) for title in titles})
