"""`SlotReports`: what slots of the state log tell the operator: log lines, counters, and the last load."""

from typing import Final, Protocol

from kproxy.errors import CorruptStateRecord, UnsupportedStateRecord
from kproxy.net.counting import Measuring
from kproxy.net.state_log.partition_writer import Doubt
from kproxy.telemetry import logs

log = logs.logger("net.state_log")

DELAYS_BEFORE_WARNING: Final = 8
"""Some seconds, as the pauses between them grow."""


class Loaded(Protocol):
    """What is told of a slot that was loaded."""

    @property
    def record_count(self) -> int:
        """Records that were read."""
        ...

    @property
    def seconds(self) -> float:
        """How long that took."""
        ...


class SlotReports:
    """One for all slots. Implements `AppendObserver`, too."""

    def __init__(self, measuring: Measuring) -> None:
        self._measuring = measuring
        self._delays: dict[int, int] = {}

    def appended(self, topic: str, *, records: int, batch_bytes: int, seconds: float) -> None:
        """Note an append that is durable."""
        self._measuring.count("statelog_records", records, topic)
        self._measuring.count("statelog_bytes", batch_bytes, topic)
        self._measuring.observe("statelog_append_seconds", seconds)

    def refused(self, partition: str, *, reason: str, detail: str, advice: str) -> None:
        """Note an append that was given up and is certainly not in the log: nothing has to be built again."""
        self._measuring.count("statelog_refusals", 1, reason)
        log.warning("append_refused", partition=partition, reason=reason, detail=detail, advice=advice)

    def loaded(self, slot: int, loaded: Loaded) -> None:
        """Note that a slot serves from now on."""
        self._delays.pop(slot, None)
        self._measuring.count("statelog_replayed_records", loaded.record_count)
        self._measuring.observe("statelog_replay_seconds", loaded.seconds)
        log.debug("slot_loaded", slot=slot, records=loaded.record_count, seconds=round(loaded.seconds, 3))

    def delayed(self, slot: int, reason: str) -> None:
        """Note that a slot cannot be claimed or loaded for now; of all that wait together one speaks.

        A cluster that has just been started needs a moment, and so has a leader that moves: the first word is for
        information, and only who goes on waiting is a reason to worry.
        """
        self._measuring.count("statelog_delays")
        is_speaker = not self._delays or next(iter(self._delays)) == slot
        delays = self._delays[slot] = self._delays.get(slot, 0) + 1
        if is_speaker and delays == 1:
            log.info("slot_delayed", slot=slot, reason=reason)
        elif is_speaker and delays == DELAYS_BEFORE_WARNING:
            log.warning("slot_delayed", slot=slot, reason=reason)

    def left(self, slot: int, doubt: Doubt, detail: str) -> None:
        """Note that what was in memory of a slot was forgotten, to be built again, or lost to another process."""
        self._measuring.count("statelog_rebuilds", 1, doubt.value)
        if doubt is Doubt.TRUNCATED:
            self.truncated(detail)
        elif doubt is Doubt.FENCED:
            # Whether it is lost is found out next; if it is, an error says so.
            log.info("slot_fenced", slot=slot, detail=detail)
        else:
            log.warning("slot_rebuilt", slot=slot, reason=doubt.value, detail=detail)

    def truncated(self, detail: str) -> None:
        """Raise the alarm: records that were durable are gone, acknowledged ones may be delivered again."""
        self._measuring.count("statelog_truncations")
        log.error("state_log_truncated", detail=detail)

    def begun_anew(self, group_id: str, slot: int, count: int) -> None:
        """Raise the alarm: the state of `count` share-partitions of a group is gone from a slot's log."""
        self._measuring.count("statelog_lost_states", count)
        log.error(
            "share_state_lost",
            group=group_id,
            slot=slot,
            partitions=count,
            consequence="they begin anew at the first record that their topics still have: records that were "
            "acknowledged are delivered again",
        )

    def stopped(self, slot: int, reason: str | CorruptStateRecord) -> None:
        """Note that a slot cannot be served until somebody has looked at its log, or runs a newer kproxy."""
        is_newer = isinstance(reason, UnsupportedStateRecord)
        self._measuring.count("statelog_newer_formats" if is_newer else "statelog_corrupt_slots")
        log.error("slot_stopped", slot=slot, reason=str(reason))
