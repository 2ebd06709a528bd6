"""Members of a share group that send heartbeats as a client does, and go by what they are told."""

import time
from collections.abc import Sequence
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from tests.conformance.member import Member, Place, Topic
from tests.conformance.preparation import NOT_YET

SETTLING_SECONDS: Final = 30.0
PAUSE_SECONDS: Final = 0.02
JOINING: Final = 0
LEAVING: Final = -1


class Membership:
    """One member's epoch and assignment. Its heartbeats are not noted: how many it takes is nobody's promise."""

    def __init__(self, member: Member, topics: Sequence[Topic]) -> None:
        self.member, self.topics = member, topics
        self.epoch = self.previous_epoch = JOINING
        self.assigned: frozenset[Place] = frozenset()

    @property
    def names(self) -> list[str]:
        """Of what it subscribes to."""
        return [topic.name for topic in self.topics]

    def beat(self) -> ShareGroupHeartbeatResponse:
        """Send the next heartbeat; the first one joins."""
        while True:
            names = self.names if self.epoch == JOINING else None
            answer = self.member.heartbeat(self.epoch, topics=names, is_noted=False)
            if answer.error_code not in NOT_YET:
                break
            time.sleep(PAUSE_SECONDS)
        if answer.error_code == ErrorCode.NONE:
            if answer.member_epoch != self.epoch:
                self.epoch, self.previous_epoch = answer.member_epoch, self.epoch
            self._learn(answer)
        return answer

    def leave(self) -> None:
        """Send the last heartbeat; it is noted."""
        self.member.heartbeat(LEAVING)
        self.epoch, self.assigned = JOINING, frozenset()

    def _learn(self, answer: ShareGroupHeartbeatResponse) -> None:
        if answer.assignment is not None:
            by_id = {topic.topic_id: topic for topic in self.topics}
            self.assigned = frozenset(
                (by_id[each.topic_id], index)
                for each in answer.assignment.topic_partitions
                for index in each.partitions
            )


def settle(*memberships: Membership, sizes: Sequence[int], quiet_rounds: int = 3) -> None:
    """Send heartbeats in turn until the assignments have these sizes, largest first, and stay as they are.

    Raises AssertionError when they do not come to that in time.
    """
    deadline = time.monotonic() + SETTLING_SECONDS
    quiet, before = 0, [each.assigned for each in memberships]
    while quiet < quiet_rounds:
        for each in memberships:
            answer = each.beat()
            assert answer.error_code == ErrorCode.NONE, answer
        now = [each.assigned for each in memberships]
        is_as_wanted = sorted(map(len, now), reverse=True) == list(sizes)
        quiet = quiet + 1 if is_as_wanted and now == before else 0
        before = now
        assert time.monotonic() < deadline, f"{[len(each) for each in now]} are assigned, not {sizes}"
        if quiet < quiet_rounds:
            time.sleep(PAUSE_SECONDS)


def assigned_to(*memberships: Membership) -> list[list[str]]:
    """Who has what, as the comparison shows it: `topic-partition`, sorted."""
    return [sorted(f"{topic.name}-{index}" for topic, index in each.assigned) for each in memberships]
