"""Operations say who asked for them, also when nobody in particular did."""

import pytest

from kproxy.share.identifiers import LeaderEpoch, StateEpoch
from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.operations import ColdSnapshots, Delete, Initialize, Load, Read
from tests.unit.statelog.state_log_builders import KEY


@pytest.mark.parametrize(
    ("operation", "cause"),
    [
        (Initialize(KEY, StateEpoch(1), -1), Cause.INITIALIZE),
        (Load(KEY), Cause.LOAD),
        (Read(KEY, LeaderEpoch(1)), Cause.LOAD),
        (Delete(KEY), Cause.DELETE),
        (ColdSnapshots(0), Cause.SNAPSHOT),
    ],
)
def test_an_operation_of_the_coordinator_itself_has_its_own_cause(
    operation: Initialize | Load | Read | Delete | ColdSnapshots, cause: Cause
) -> None:
    assert operation.actor == Actor(cause)
