"""What was recorded of the state topics is looked at before any slot is claimed."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable, CorruptStateRecord, UnsupportedStateRecord
from kproxy.net.state_log.log_scan import LogScan
from kproxy.net.state_log.state_topic_facts import require_recorded_facts, require_same_facts
from kproxy.net.state_log.state_topics import StateTopicUnusable
from kproxy.statelog.claims import Claim
from kproxy.statelog.group_records import StateTopicFacts, encode_group_record
from kproxy.wire.records import Record
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.state_logs import SLOT_COUNT, STATE, StateLogBacking, groups_log


def recorded(cluster: ScriptedStateLog, facts: StateTopicFacts) -> None:
    """Write facts down, as an import would."""
    cluster.write_foreign(groups_log(), encode_group_record(facts, claim_epoch=None))


async def look(backing: StateLogBacking) -> None:
    """Look at the facts of the topics as they are."""
    await require_recorded_facts(LogScan(backing.reader), await backing.found())


async def test_topics_of_which_nothing_is_recorded_may_be_used(backing: StateLogBacking) -> None:
    # When / Then
    await look(backing)


async def test_topics_that_are_what_they_were_may_be_used_whatever_else_stands_there(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    cluster.write_foreign(groups_log(), Record(b"\x00\x63what", b"?"))
    recorded(cluster, StateTopicFacts(SLOT_COUNT, 2))

    # When / Then
    await look(backing)


async def test_topics_that_got_more_partitions_are_refused_with_the_reason_and_the_remedy(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    recorded(cluster, StateTopicFacts(1, 2))

    # When / Then
    with pytest.raises(
        StateTopicUnusable, match=rf"{STATE} has 2 partitions and had 1 .*; restore the topic"
    ):
        await look(backing)


@pytest.mark.parametrize(
    "newer",
    [StateTopicFacts(SLOT_COUNT, 3), Claim("a kproxy of next year", 3)],
    ids=lambda newer: type(newer).__name__,
)
async def test_a_newer_format_is_refused_with_the_remedy(
    newer: StateTopicFacts | Claim, cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    cluster.write_foreign(groups_log(), encode_group_record(newer, claim_epoch=None))

    # When / Then
    with pytest.raises(StateTopicUnusable, match="run the kproxy that wrote it, or a newer one"):
        await look(backing)


@pytest.mark.parametrize(
    "earlier",
    [StateTopicFacts(SLOT_COUNT, 1), Claim("a kproxy of last year", 1)],
    ids=lambda earlier: type(earlier).__name__,
)
async def test_state_that_was_placed_otherwise_is_refused_in_one_line_with_the_remedy(
    earlier: StateTopicFacts | Claim, cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    cluster.write_foreign(groups_log(), encode_group_record(earlier, claim_epoch=None))

    # When
    with pytest.raises(StateTopicUnusable) as refusal:
        await look(backing)

    # Then
    assert str(refusal.value) == (
        f"the state in topic {STATE} is of format 1, which spread a group over the topic, and this kproxy looks for a "
        "group in one partition (format 2): name other topics with kproxy.state.topic.name and "
        "kproxy.groups.topic.name, or delete both topics; share groups then begin where share.auto.offset.reset says"
    )


async def test_facts_that_cannot_be_read_are_not_guessed(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    await backing.found()
    cluster.refuse(groups_log().topic_id, 0, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    # When / Then
    with pytest.raises(BrokerUnavailable):
        await look(backing)


@pytest.mark.parametrize(
    ("facts", "error"),
    [
        (StateTopicFacts(49, 2), CorruptStateRecord),
        (StateTopicFacts(50, 1), CorruptStateRecord),
        (StateTopicFacts(50, 3), UnsupportedStateRecord),
    ],
)
def test_other_facts_than_those_found_are_an_error(facts: StateTopicFacts, error: type[Exception]) -> None:
    with pytest.raises(error):
        require_same_facts(facts, StateTopicFacts(50, 2), STATE)
