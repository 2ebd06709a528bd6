"""A group whose members come and go, and what admin clients ask of it."""

import time
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from tests.conformance import admin_requests, preparation
from tests.conformance.chance.steps import (
    AlterOffsets,
    DeleteGroup,
    DeleteOffsets,
    DescribeConfigs,
    DescribeGroup,
    DescribeOffsets,
    ListGroups,
)
from tests.conformance.chance.strategies import MEMBERS
from tests.conformance.member import FINAL, OPENING, Ack, Member, Terms, Topic, partitions
from tests.conformance.membership import Membership, settle
from tests.conformance.scenario import Play

LOADING_SECONDS: Final = 5.0
UNLOADING_SECONDS: Final = 2.0
"""A connection that was closed is noticed, what its member held is released, and that is written."""


class GroupUnderAdministration:
    """A share group of three members that fetch, and of a founder that sends heartbeats."""

    def __init__(self, play: Play, topic: Topic) -> None:
        self._play, self._topic = play, topic
        self._group = play.group(topic)
        self._group_id = self._group.group_id
        self.members = self._new_members()
        self._joined: dict[int, Membership] = {}
        self._is_gone = self._is_unloaded = False

    # ---- members

    def has_session(self, number: int) -> bool:
        """Whether this member has fetched."""
        return self.members[number].epoch != OPENING

    def fetch(self, number: int, *acks: Ack, terms: Terms) -> ShareFetchResponse:
        """Fetch; where nothing is loaded yet, until it is."""
        self.return_if_gone()
        member = self.members[number]
        if not self._is_unloaded:
            return member.fetch(*acks, terms=terms)
        self._is_unloaded = False
        deadline = time.monotonic() + LOADING_SECONDS
        while True:
            member.send_fetch(epoch=OPENING, terms=terms)
            answer = member.receive_fetch(is_noted=False)
            if _is_loaded(answer) or time.monotonic() > deadline:
                break
        member.epoch = 1
        self._play.note(f"{member.member_id}: first fetch", answer)
        return answer

    def join(self, number: int) -> None:
        """Let a member send heartbeats, too."""
        self.return_if_gone()
        if number not in self._joined:
            self._joined[number] = Membership(self.members[number], (self._topic,))
            self._settle()

    def leave(self, number: int) -> None:
        """Let a member say that it leaves."""
        membership = self._joined.pop(number, None)
        if membership is not None:
            membership.leave()
            self._settle()

    def unload(self) -> None:
        """Let all leave and close their connections, sessions first: what is released is released then."""
        if self._is_gone:
            return
        for number in sorted(self._joined):
            self._joined.pop(number).leave()
        for member in self.members:
            if member.epoch != OPENING:
                member.acknowledge(epoch=FINAL)
            member.drop()
            member.epoch = OPENING
        self._group.founder_leaves()
        time.sleep(UNLOADING_SECONDS)
        self._is_gone = True

    def return_if_gone(self) -> None:
        """Let the founder and the members come back, when they went."""
        if self._is_gone:
            self._group.founder_returns()
            self.members = self._new_members()
            self._is_gone, self._is_unloaded = False, True

    def _settle(self) -> None:
        everybody = [self._group.founder, *self._joined.values()]
        settle(*everybody, sizes=[1] * len(everybody), quiet_rounds=1)

    def _new_members(self) -> list[Member]:
        return [self._group.member(f"member-{number}") for number in range(MEMBERS)]

    # ---- configurations

    def set(self, key: str, value: str) -> None:
        """Set a configuration; the answer is not noted."""
        self._group.configure({key: value})

    def configure(self, key: str, value: str | None) -> int:
        """Set a configuration, or take back what was set; the error code of the answer."""
        error_code = admin_requests.alter_config(self._play, self._group_id, key, value)
        if error_code == ErrorCode.NONE:
            self._play.wait_until(
                lambda: preparation.is_group_config(self._play.helper, self._group_id, key, value),
                what=f"{self._group_id} shows {key}={value}",
            )
            preparation.wait_until_applied(self._play.helper)
        return error_code

    # ---- admin clients

    def ask(
        self,
        step: DescribeConfigs
        | DescribeOffsets
        | AlterOffsets
        | DeleteOffsets
        | DeleteGroup
        | DescribeGroup
        | ListGroups,
    ) -> None:
        """Ask for what the step says."""
        play, group = self._play, self._group_id
        match step:
            case DescribeConfigs():
                admin_requests.describe_configs(play, group)
            case DescribeOffsets():
                # Of a partition that its topic does not have a broker asks the share coordinator for half a minute.
                named = {self._topic.name: [0], "unknown": [0]} if step.is_named else None
                admin_requests.describe_offsets(play, {group: named})
            case AlterOffsets():
                admin_requests.alter_offsets(play, group, self._topic, step.offset)
            case DeleteOffsets():
                admin_requests.delete_offsets(play, group, self._topic)
            case DeleteGroup():
                admin_requests.delete_groups(play, group, "missing")
            case DescribeGroup():
                self._describe_group(step)
            case ListGroups():
                listed = admin_requests.listed(play, [group], types=step.types, states=step.states)
                play.say("listed", listed)

    def _describe_group(self, step: DescribeGroup) -> None:
        if step.classic_version is None:
            admin_requests.describe_group(self._play, self._group_id)
            return
        # 3.9.2 does not have version 6.
        version = min(step.classic_version, self._play.newest_version(ApiKey.DESCRIBE_GROUPS))
        described = admin_requests.described_as_classic(self._play, self._group_id, version)
        self._play.say("as a classic group", (described.group_state, described.members))


def _is_loaded(answer: ShareFetchResponse) -> bool:
    return [partition.error_code for partition in partitions(answer)] == [ErrorCode.NONE]
