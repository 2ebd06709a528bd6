"""The accounts of records find what is wrong, and no more: also where members were killed."""

from typing import Final

import pytest

from tests.real_kafka.accounts import misaccounted
from tests.real_kafka.consumption import Delivery
from tests.real_kafka.crew import KILLED
from tests.real_kafka.share_member import AcknowledgeType, ReceivedRecord

PRODUCED: Final = {(0, 0): "a"}

History = list[tuple[AcknowledgeType, int, str | None]]
"""What was said, at which delivery, and with which error."""


def deliveries(history: History) -> list[Delivery]:
    return [
        Delivery(0, ReceivedRecord("topic", 0, 0, None, "a", count), how, error)
        for how, count, error in history
    ]


SETTLED: Final[History] = [(AcknowledgeType.RELEASE, 1, None), (AcknowledgeType.ACCEPT, 2, None)]
REDELIVERED_AFTER_A_KILL: Final[History] = [
    (AcknowledgeType.ACCEPT, 1, KILLED),
    (AcknowledgeType.ACCEPT, 2, None),
]
IN_DOUBT: Final[History] = [(AcknowledgeType.ACCEPT, 1, KILLED)]
SEEN_THE_SECOND_TIME: Final[History] = [(AcknowledgeType.ACCEPT, 2, None)]


@pytest.mark.parametrize("history", [SETTLED, REDELIVERED_AFTER_A_KILL, IN_DOUBT, SEEN_THE_SECOND_TIME])
def test_where_members_were_killed_deliveries_may_be_unseen_and_answers_unknown(history: History) -> None:
    assert misaccounted(deliveries(history), PRODUCED, are_settled=True, were_killed=True) == {}


@pytest.mark.parametrize(
    ("history", "problem"),
    [
        ([], "never delivered"),
        ([(AcknowledgeType.RELEASE, 1, None)], "its last delivery did not settle it"),
        ([(AcknowledgeType.RELEASE, 1, KILLED)], "its last delivery did not settle it"),
        (
            [(AcknowledgeType.ACCEPT, 1, None), (AcknowledgeType.ACCEPT, 2, None)],
            "delivered again after it was settled",
        ),
        (
            [(AcknowledgeType.RELEASE, 2, None), (AcknowledgeType.ACCEPT, 2, None)],
            "its delivery counts are not 1, 2, …",
        ),
    ],
)
def test_what_is_wrong_is_wrong_though_members_were_killed(history: History, problem: str) -> None:
    [found] = misaccounted(deliveries(history), PRODUCED, are_settled=True, were_killed=True).values()

    assert found.startswith(problem)


@pytest.mark.parametrize("history", [SEEN_THE_SECOND_TIME, IN_DOUBT])
def test_where_nobody_was_killed_no_delivery_is_unseen_and_no_answer_unknown(history: History) -> None:
    assert misaccounted(deliveries(history), PRODUCED) != {}
