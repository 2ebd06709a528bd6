"""How far a share group is with each share-partition, live or not, and what lies before it. Pure.

A share-partition that nobody fetches from is not live: what it would be loaded from is in the state log.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kproxy.handlers.backlog import Backlog, BacklogQuestion
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.share.identifiers import SharePartitionKey, topic_id_text
from kproxy.share.record_state import UNDELIVERABLE_STATES
from kproxy.share.share_partition import SharePartition
from kproxy.share.state_batches import UNKNOWN_START_OFFSET, StateBatch
from kproxy.statelog.durable_state import DurableShareState


@dataclass(frozen=True, slots=True)
class SharePartitionWindow:
    """What kproxy itself knows of a share-partition, at one moment.

    Offsets from `start_offset` (SPSO) to `end_offset` (SPEO), both inclusive, are in flight; they are equal when
    nothing is. `delivery_complete_count` of them are done with. None is not known; `reason` says why.
    `in_flight_limit` says how many records may be in flight now (`group.share.partition.max.record.locks`), and
    `in_flight_limit_at_growth` how many might when new ones were acquired last; None if none were since it was loaded.
    `not_live_reason` says that it is being loaded, or could not be; empty if it is live, or nobody fetches from it.
    """

    key: SharePartitionKey
    topic_name: str | None
    is_live: bool
    start_offset: int | None = None
    end_offset: int | None = None
    in_flight_count: int = 0
    delivery_complete_count: int | None = None
    reason: str = ""
    in_flight_limit: int | None = None
    in_flight_limit_at_growth: int | None = None
    not_live_reason: str = ""


@dataclass(frozen=True, slots=True)
class SharePartitionProgress:
    """A share-partition of `/api/v1/groups/{g}`.

    `start_offset`, `end_offset`, `delivery_complete_count`, what is in flight and `not_live_reason` are those of
    `SharePartitionWindow`; `is_live` tells whether it is in memory. `log_end_offset` is the high watermark,
    exclusive, and `lag` Kafka's: `log_end_offset` less `start_offset` and `delivery_complete_count` (KIP-1226).
    `oldest_age_ms` is how long ago, by the timestamps of its records, the first record was written that is not done
    with; unless `is_oldest_age_exact` it is at least that long. `last_stable_offset` is that of `Backlog`. None
    is not known or, of an age, that there is no such record; `reason` says why something is not known, and is empty if
    nothing is to be said.
    """

    topic_id: str
    topic_name: str | None
    partition: int
    is_live: bool
    start_offset: int | None
    end_offset: int | None
    in_flight_count: int
    in_flight_limit: int | None
    in_flight_limit_at_growth: int | None
    delivery_complete_count: int | None
    log_end_offset: int | None
    lag: int | None
    oldest_age_ms: int | None
    is_oldest_age_exact: bool
    reason: str
    last_stable_offset: int | None = None
    not_live_reason: str = ""


def live_window(share_partition: SharePartition, topic_name: str | None) -> SharePartitionWindow:
    """Return the window of a share-partition in memory."""
    return SharePartitionWindow(
        key=share_partition.key,
        topic_name=topic_name,
        is_live=True,
        start_offset=share_partition.start_offset,
        end_offset=share_partition.last_offset,
        in_flight_count=share_partition.in_flight_count,
        delivery_complete_count=share_partition.delivery_complete_count,
        in_flight_limit=share_partition.limits.partition_max_record_locks,
        in_flight_limit_at_growth=share_partition.limit_at_growth,
    )


def durable_window(
    key: SharePartitionKey,
    state: DurableShareState | None,
    topic_name: str | None,
    in_flight_limit: int | None = None,
) -> SharePartitionWindow:
    """Return the window that a share-partition would be loaded with.

    What is done with at the start of the durable state is passed, as a load does. Start offset and count move by the
    same number, so that the lag stays what it is.
    """
    if state is None:
        return unknown_window(key, topic_name, "there is no durable state of it")
    if state.start_offset == UNKNOWN_START_OFFSET:
        reason = (
            "no start offset is written down yet: share.auto.offset.reset says where the first fetch begins"
        )
        return unknown_window(key, topic_name, reason)
    start_offset = _first_unfinished(state.start_offset, state.state_batches)
    last_offset = max((batch.last_offset for batch in state.state_batches), default=-1)
    counted = state.delivery_complete_count
    is_counted = counted >= 0 or not state.state_batches
    passed = start_offset - state.start_offset
    return SharePartitionWindow(
        key=key,
        topic_name=topic_name,
        is_live=False,
        start_offset=start_offset,
        end_offset=max(start_offset, last_offset),
        in_flight_count=max(0, last_offset + 1 - start_offset),
        delivery_complete_count=max(0, counted - passed) if is_counted else None,
        reason="" if is_counted else "the durable state does not count the records done with",
        in_flight_limit=in_flight_limit,
    )


def unknown_window(key: SharePartitionKey, topic_name: str | None, reason: str) -> SharePartitionWindow:
    """Return the window of a share-partition of which nothing is known, and `reason` why."""
    return SharePartitionWindow(key=key, topic_name=topic_name, is_live=False, reason=reason)


def backlog_question(
    window: SharePartitionWindow, isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
) -> BacklogQuestion:
    """Return what to ask the brokers about a share-partition; its group is given the records of `isolation`."""
    topic_id, partition = window.key.topic_id, window.key.partition
    return BacklogQuestion(topic_id, window.topic_name, partition, window.start_offset, isolation)


def progress_view(window: SharePartitionWindow, backlog: Backlog, now_ms: int) -> SharePartitionProgress:
    """Join what kproxy and what the brokers know. `now_ms` counts from the epoch.

    The log's end was asked for after the window was looked at, so the lag is not negative.
    """
    oldest = backlog.oldest
    return SharePartitionProgress(
        topic_id=topic_id_text(window.key.topic_id),
        topic_name=window.topic_name,
        partition=window.key.partition,
        is_live=window.is_live,
        start_offset=window.start_offset,
        end_offset=window.end_offset,
        in_flight_count=window.in_flight_count,
        in_flight_limit=window.in_flight_limit,
        in_flight_limit_at_growth=window.in_flight_limit_at_growth,
        delivery_complete_count=window.delivery_complete_count,
        log_end_offset=backlog.log_end_offset,
        lag=_lag(window, backlog),
        oldest_age_ms=None if oldest is None else max(0, now_ms - oldest.timestamp_ms),
        is_oldest_age_exact=oldest is not None and oldest.is_exact,
        reason="; ".join(filter(None, (window.reason, backlog.reason))),
        last_stable_offset=backlog.last_stable_offset,
        not_live_reason=window.not_live_reason,
    )


def _lag(window: SharePartitionWindow, backlog: Backlog) -> int | None:
    start, end, complete = window.start_offset, backlog.log_end_offset, window.delivery_complete_count
    if start is None or end is None or complete is None:
        return None
    # A log that was truncated, or whose topic was made anew, may end below the start offset.
    return max(0, end - start - complete)


def _first_unfinished(start_offset: int, batches: Sequence[StateBatch]) -> int:
    for batch in batches:
        if batch.first_offset > start_offset or batch.state not in UNDELIVERABLE_STATES:
            break
        start_offset = batch.last_offset + 1
    return start_offset
