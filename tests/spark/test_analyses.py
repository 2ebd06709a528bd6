"""The analyses, asked about real log bytes of made-up histories, against what is counted from the plain facts."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kproxy.jobs.analyses import lag_history, redeliveries, stuck, throughput
from kproxy.jobs.analyses.audit import PASSED
from kproxy.jobs.analyses.audit import run as audit
from kproxy.jobs.analyses.redeliveries import Steps
from kproxy.jobs.history.buckets import offset_step, time_step_ms
from kproxy.jobs.history.changes import ACKNOWLEDGEMENTS, RETURNS
from kproxy.jobs.history.silver import silver_rows
from kproxy.jobs.sources.raw_records import batch_of
from tests.spark.silver_contexts import silver_context
from tests.worlds.consumption_facts import NEARLY, event_of, events_of_offset, in_log_order, stuck_records
from tests.worlds.consumptions import STEPS, Consumption, Fact, Step, consumption_of

pytestmark = pytest.mark.spark

EVERY_MS: Final = 60_000
ALL: Final = {"group": None, "topic": None, "partition": None, "since_ms": None, "until_ms": None}


@settings(
    max_examples=2,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(STEPS, min_size=4, max_size=4))
def test_every_analysis_of_a_log_says_what_happened(spark: Any, steps: Sequence[Sequence[Step]]) -> None:
    # Given
    made = [consumption_of(number, each) for number, each in enumerate(steps)]
    tables = [pa.Table.from_batches([batch_of(number, each.records)]) for number, each in enumerate(made)]
    # One task, as a reader would have it: a log partition is never cut in the middle.
    silver = silver_rows(spark.createDataFrame(pa.concat_tables(tables)).coalesce(1)).persist()
    facts = [fact for each in made for fact in each.facts]

    # When
    answers = answers_about(silver, offset=10)

    # Then
    assert answers == {
        "throughput": acknowledged_by_member(facts),
        "fairness": fairness_of(facts),
        "redeliveries": redelivered_by_cell(facts, offsets=5),
        "stuck": stuck_records(made),
        "lag-history": lag_at_steps(made),
        "audit of an offset": events_of_offset(made, 10),
        "audit of a member": [event_of(fact) for fact in in_log_order(facts) if fact.member == "alice"],
    }


def answers_about(silver: Any, *, offset: int) -> dict[str, Any]:
    context = silver_context(silver)
    base = throughput.counts(silver, EVERY_MS).persist()
    answers = {
        "throughput": members_in(throughput.summed(base, ["group", "member"], EVERY_MS)),
        "fairness": {row["groupId"]: row["gini"] for row in throughput.fairness(base).collect()},
        "redeliveries": cells_in(silver),
        "stuck": stuck_in(silver),
        "lag-history": lags_in(silver),
        "audit of an offset": audited(audit(context, offset=offset, member=None, **ALL).frame),
        "audit of a member": audited(audit(context, offset=None, member="alice", **ALL).frame),
    }
    base.unpersist()
    silver.unpersist()
    return answers


def members_in(frame: Any) -> dict[tuple[str, str | None], dict[str, int]]:
    names = {
        "accepted": "accept",
        "released": "release",
        "rejected": "reject",
        "gaps": "gap",
        "notRecorded": "finished",
        "lockTimeouts": "lock-timeout",
        "sessionCloses": "session-close",
        "logStartMoved": "log-start-moved",
        "atDeliveryLimit": "delivery-limit",
    }
    return {
        (row["groupId"], row["memberId"]): {event: row[name] for name, event in names.items() if row[name]}
        for row in frame.collect()
    }


def acknowledged_by_member(facts: Sequence[Fact]) -> dict[tuple[str, str | None], dict[str, int]]:
    """What ended at the delivery limit is counted there, and under how that came about if the log says it."""
    counted: dict[tuple[str, str | None], Counter[str]] = defaultdict(Counter)
    for fact in facts:
        for name in {fact.event} | ({"delivery-limit"} if fact.ended_by == "delivery-limit" else set()):
            counted[fact.key.group_id, fact.member][name] += fact.record_count
    return {who: dict(counts) for who, counts in counted.items()}


def fairness_of(facts: Sequence[Fact]) -> dict[str, Any]:
    """The Gini coefficient by its definition: the mean difference of all pairs, over twice the mean."""
    shares: dict[str, Counter[str]] = defaultdict(Counter)
    for fact in facts:
        if fact.event in ACKNOWLEDGEMENTS:
            shares[fact.key.group_id][str(fact.member)] += fact.record_count
    return {group: pytest.approx(gini(list(of.values())), abs=1e-4) for group, of in shares.items()}


def gini(shares: Sequence[int]) -> float:
    differences = sum(abs(one - other) for one in shares for other in shares)
    return differences / (2 * len(shares) * sum(shares))


def cells_in(silver: Any) -> dict[tuple[Any, ...], tuple[int, int]]:
    cells = redeliveries.cells_of(redeliveries.failed_deliveries_of(silver), Steps(EVERY_MS, 5))
    return {
        (row["group"], row["partition"], row["time_ms"], row["first_offset"], row["last_offset"]): (
            row["redelivered"],
            row["atDeliveryLimit"],
        )
        for row in cells.collect()
    }


def redelivered_by_cell(facts: Sequence[Fact], offsets: int) -> dict[tuple[Any, ...], tuple[int, int]]:
    returned, given_up = Counter[Any](), Counter[Any]()
    for fact in facts:
        for offset in range(fact.first_offset, fact.last_offset + 1):
            low = offset - offset % offsets
            time_ms = fact.time_ms - fact.time_ms % EVERY_MS
            cell = (fact.key.group_id, fact.key.partition, time_ms, low, low + offsets - 1)
            returned[cell] += fact.event in RETURNS and fact.ended_by is None
            given_up[cell] += fact.ended_by == "delivery-limit"
    return {cell: (returned[cell], given_up[cell]) for cell in returned if returned[cell] or given_up[cell]}


def stuck_in(silver: Any) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    found = stuck.stuck_in(silver, deliveries=NEARLY, behind=1)
    return {
        (row["group"], row["partition"], row["offset"]): (
            row["reason"],
            row["delivery_count"],
            row["done_behind"],
            [(each["logOffset"], each["event"]) for each in row["history"]],
        )
        for row in found.collect()
    }


def lags_in(silver: Any) -> dict[tuple[Any, ...], tuple[int, ...]]:
    return {
        (row["group"], row["partition"], row["time_ms"]): (
            row["start_offset"],
            row["delivery_complete_count"],
            row["recorded_end_offset"],
            row["lag"],
        )
        for row in lag_history.lag_of(silver, EVERY_MS).collect()
    }


def lag_at_steps(made: Sequence[Consumption]) -> dict[tuple[Any, ...], tuple[int, ...]]:
    found: dict[tuple[Any, ...], tuple[int, ...]] = {}
    ends: dict[Any, int] = defaultdict(int)
    for each in made:
        for written in each.written:
            key = written.key
            done_below = [
                fact.last_offset + 1
                for fact in each.facts
                if fact.key == key and fact.log_offset == written.log_offset
            ]
            ends[key] = max(ends[key], written.end_offset, written.start_offset, *done_below)
            lag = max(0, ends[key] - written.start_offset - written.complete_count)
            place = (key.group_id, key.partition, written.time_ms - written.time_ms % EVERY_MS)
            found[place] = (written.start_offset, written.complete_count, ends[key], lag)
    return found


def audited(frame: Any) -> list[tuple[Any, ...]]:
    rows = [
        (
            *(row["groupId"], row["partition"], row["logOffset"], row["event"], row["firstOffset"]),
            # Of a merged write anybody may have moved the start offset.
            None if row["event"] == PASSED else row["memberId"],
            row["endedBy"],
        )
        for row in frame.collect()
    ]
    return sorted(rows, key=lambda row: (row[0].partition("-")[2], row[2], row[3]))


@pytest.mark.parametrize(
    ("span_ms", "most", "step_ms"),
    [(1, 60, 1000), (60_000, 60, 1000), (61_000, 60, 2000), (10**9, 10, 172_800_000)],
)
def test_steps_of_time_are_round(span_ms: int, most: int, step_ms: int) -> None:
    assert time_step_ms(span_ms, most) == step_ms


@pytest.mark.parametrize(
    ("span", "most", "step"), [(1, 40, 1), (40, 40, 1), (41, 40, 2), (10**6, 40, 50_000)]
)
def test_steps_of_offsets_are_round(span: int, most: int, step: int) -> None:
    assert offset_step(span, most) == step


def test_an_analysis_keeps_to_the_group_the_topic_and_the_partition_that_are_asked_for(spark: Any) -> None:
    # Given
    steps = [Step(partition, "accept", "alice", 0, 3, 1000) for partition in (0, 1, 2)]
    table = pa.Table.from_batches([batch_of(0, consumption_of(0, steps).records)])
    context = silver_context(
        silver_rows(spark.createDataFrame(table).coalesce(1)), {"AAAAAAAAAAAAAAAAAAAAAQ": "jobs"}
    )
    asked: Mapping[str, Any] = ALL | {"group": "orders-0", "topic": "jobs", "partition": 1}

    # When
    found = throughput.run(context, by="group,partition", every_ms=EVERY_MS, **asked).frame.collect()

    # Then
    places = [(row["groupId"], row["topicName"], row["partition"], row["accepted"]) for row in found]
    assert places == [("orders-0", "jobs", 1, 3)]
