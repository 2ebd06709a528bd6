from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kproxy.clients.failures import NotThere
from kproxy.clients.history.audit import Audit
from kproxy.clients.history.selection import Selected
from tests.unit.clients.history.asked_logs import audited, let_take
from tests.worlds.consumption_facts import event_of, events_of_offset, in_log_order
from tests.worlds.consumptions import FIRST_MS, STEPS, Step, consumption_of


@settings(max_examples=30)
@given(st.lists(STEPS, min_size=1, max_size=2))
def test_all_that_happened_to_a_record_is_told(steps: Sequence[Sequence[Step]]) -> None:
    # Given
    made = [consumption_of(number, each) for number, each in enumerate(steps)]
    audit = Audit(Selected(), offset=10)

    # When
    let_take(audit, made)

    # Then
    assert audited(audit.events("the log")) == events_of_offset(made, 10)


@settings(max_examples=30)
@given(st.lists(STEPS, min_size=1, max_size=2))
def test_all_that_a_member_did_is_told(steps: Sequence[Sequence[Step]]) -> None:
    # Given
    made = [
        consumption_of(number, [*each, Step(0, "accept", "alice", 0, 1, 0)])
        for number, each in enumerate(steps)
    ]
    audit = Audit(Selected(), member="alice")

    # When
    let_take(audit, made)

    # Then
    facts = in_log_order([fact for each in made for fact in each.facts])
    assert audited(audit.events("the log")) == [event_of(fact) for fact in facts if fact.member == "alice"]


def test_what_is_not_in_the_time_asked_for_is_left_out() -> None:
    # Given
    made = consumption_of(0, [Step(0, "accept", "alice", 0, 1, 1000) for _ in range(4)])
    audit = Audit(Selected(), member="alice-client", since_ms=FIRST_MS + 2000, until_ms=FIRST_MS + 4000)

    # When
    let_take(audit, [made])

    # Then
    assert [event["firstOffset"] for event in audit.events("the log")] == [1, 2]


@pytest.mark.parametrize(
    ("audit", "complaint"),
    [
        (
            Audit(Selected(group="order-0"), offset=1),
            "there is no share group 'order-0' in the log; nearest: orders-0",
        ),
        (
            Audit(Selected(group="mail-0", partition=7), offset=1),
            "there is no partition 7 in the log; there is 0",
        ),
        (
            Audit(Selected(topic="job", names={"AAAAAAAAAAAAAAAAAAAAAQ": "jobs"}), offset=1),
            "there is no topic 'job' in the log; nearest: jobs",
        ),
        (
            Audit(Selected(), member="alic"),
            (
                "there is no member or client 'alic' in the log, which has those that acknowledged something or lost a "
                "lock: one that only acquired records is not there (kproxy in-flight list shows who holds what now); "
                "nearest: alice"
            ),
        ),
    ],
)
def test_a_name_that_the_log_does_not_have_is_told_with_the_nearest_ones(
    audit: Audit, complaint: str
) -> None:
    # Given
    let_take(audit, [consumption_of(0, [Step(0, "accept", "alice", 0, 1, 1000)])])

    # When
    with pytest.raises(NotThere) as raised:
        audit.events("the log")

    # Then
    assert str(raised.value) == complaint
