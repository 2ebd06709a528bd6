"""What may never change about the state topics, as it was recorded in the first partition of the groups topic.

The slot of a group is a hash modulo the number of partitions. A topic that got more of them keeps every record, and
finds hardly any; and so it is with one whose records were placed otherwise, in an earlier format.
"""

from kproxy.errors import CorruptStateRecord, UnsupportedStateRecord
from kproxy.handlers.ports import TopicDescription
from kproxy.net.state_log.allocation import FACTS_SLOT
from kproxy.net.state_log.log_scan import LogScan
from kproxy.net.state_log.state_topics import SlotTopics, StateTopicUnusable
from kproxy.statelog.claims import FIRST_FORMAT_BY_GROUP, STATE_FORMAT_VERSION
from kproxy.statelog.group_log_fold import GroupLogFold
from kproxy.statelog.group_records import StateTopicFacts
from kproxy.statelog.state_log_fold import Outcome
from kproxy.wire.records import Record
from kproxy.wording import counted


class NewerStateTopic(StateTopicUnusable):
    """A newer kproxy wrote to a state topic, in a format that this one cannot read."""


async def require_recorded_facts(loader: LogScan, topics: SlotTopics) -> None:
    """Check, before any slot is claimed, that the topics are what they were when their state was written.

    Raises:
        NewerStateTopic: a newer kproxy wrote to them; the text says what to do.
        StateTopicUnusable: they have another number of partitions, or an earlier format; the text says what to do.
        BrokerUnavailable: the partition with the facts cannot be read.
    """
    log_end = await loader.log_end(topics.groups, FACTS_SLOT)

    async def replay_from(first_offset: int) -> GroupLogFold:
        return await _replayed(loader, topics.groups, first_offset, log_end - 1)

    fold = await loader.from_log_start(0, replay_from)
    found = StateTopicFacts(topics.slot_count, STATE_FORMAT_VERSION)
    try:
        require_same_facts(_recorded(fold, topics), found, topics.state.name)
    except UnsupportedStateRecord as newer:
        raise NewerStateTopic(newer.reason) from newer
    except CorruptStateRecord as mismatch:
        raise StateTopicUnusable(mismatch.reason) from mismatch


def _recorded(fold: GroupLogFold, topics: SlotTopics) -> StateTopicFacts | None:
    """Return the facts; those of whoever claimed the slot and ended before it wrote any down are in its claim."""
    if fold.state_topic_facts is None and fold.claim is not None:
        return StateTopicFacts(topics.slot_count, fold.claim.format_version)
    return fold.state_topic_facts


async def _replayed(
    loader: LogScan, topic: TopicDescription, first_offset: int, last_offset: int
) -> GroupLogFold:
    fold = GroupLogFold(on_corrupt="skip")

    def take(record: Record) -> Outcome:
        try:
            return fold.replay(record)
        except UnsupportedStateRecord as newer:
            raise NewerStateTopic(f"topic {topic.name}: {newer}") from newer

    await loader.look(topic, FACTS_SLOT, first_offset=first_offset, last_offset=last_offset, take=take)
    return fold


def require_same_facts(recorded: StateTopicFacts | None, found: StateTopicFacts, topic: str) -> None:
    """Check what was recorded, if anything was, against what is so.

    Raises:
        UnsupportedStateRecord: the records have a newer format.
        CorruptStateRecord: they were placed as nobody looks for them any more, or the topics had another number of
            partitions.
    """
    if recorded is None:
        return
    if recorded.format_version > found.format_version:
        raise UnsupportedStateRecord.newer(
            f"the state in topic {topic} is of format {recorded.format_version}", found.format_version
        )
    if recorded.format_version < FIRST_FORMAT_BY_GROUP:
        raise CorruptStateRecord(
            f"the state in topic {topic} is of format {recorded.format_version}, which spread a group over the "
            f"topic, and this kproxy looks for a group in one partition (format {found.format_version}): name other "
            "topics with kproxy.state.topic.name and kproxy.groups.topic.name, or delete both topics; share groups "
            "then begin where share.auto.offset.reset says"
        )
    if recorded.partition_count != found.partition_count:
        raise CorruptStateRecord(
            f"topic {topic} has {counted(found.partition_count, 'partition')} and had {recorded.partition_count} "
            "when its state was written: share-partitions would be looked for where they are not; restore "
            "the topic, or name another with kproxy.state.topic.name and kproxy.groups.topic.name"
        )
