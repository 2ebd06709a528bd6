"""What an operator did to share groups at work is told by the log that they left, and contradicts nothing there."""

from typing import Any

from kproxy.clients.history.audit import Audit
from kproxy.clients.history.finished import FinishedRecords
from kproxy.clients.history.selection import Selected
from kproxy.clients.history.silver_rows import SilverWriter
from kproxy.jobs.verify.verify_rules import Examiner
from kproxy.share.operators.settlement import OperatorAction
from kproxy.statelog.state_log_fold import StateLogFold
from tests.worlds.operated_groups import OperatedGroups

WHY = "by root@/127.0.0.1: poison"


async def test_an_audit_tells_what_an_operator_did_and_why() -> None:
    # Given
    operated = await OperatedGroups().begin()
    operators, key = operated.world.groups.operators, operated.world.key()
    for action, offset in (
        (OperatorAction.ARCHIVE, 1),
        (OperatorAction.ACCEPT, 2),
        (OperatorAction.RELEASE, 3),
    ):
        await operators.settle(key, action, [(offset, offset)], reason=f"{action} {WHY}")
    audit, finished = Audit(Selected(), member="alice"), FinishedRecords(Selected(), {"operator"}, 10)

    # When
    writer = SilverWriter(0)
    for record in operated.world.state_log.memory.records:
        for row in writer.rows(record):
            audit.take(row)
            finished.take(row)

    # Then
    assert [told(event) for event in audit.events("the log")] == [
        ("operator", "operator", 1, "alice", f"archive {WHY}"),
        ("operator", "operator", 2, "alice", f"accept {WHY}"),
        ("operator", None, 3, "alice", f"release {WHY}"),
    ]
    assert [told(run) for run in finished.runs("the log")] == [
        ("operator", "operator", 2, "alice", f"accept {WHY}"),
        ("operator", "operator", 1, "alice", f"archive {WHY}"),
    ]


async def test_the_invariants_of_the_log_hold_after_it() -> None:
    # Given
    operated = await OperatedGroups().begin()
    operators, key = operated.world.groups.operators, operated.world.key()
    await operators.settle(key, OperatorAction.ARCHIVE, [(0, 2)], reason=WHY)
    await operators.end(operators.sessions_of(key.group_id, operated.alice_id), reason=WHY)
    examiner = Examiner(StateLogFold(on_corrupt="skip"), 5)

    # When
    problems = [
        problem for record in operated.world.state_log.memory.records for problem in examiner.examine(record)
    ]

    # Then
    assert not problems


def told(event: Any) -> tuple[Any, ...]:
    return tuple(event[name] for name in ("event", "endedBy", "firstOffset", "memberId", "reason"))
