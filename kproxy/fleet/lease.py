"""`Lease`: until when a member may serve the slots that it owns. It ends by itself, whatever is heard or not heard.

**What it guarantees.** As long as a member holds its lease, the coordinator of the group has not removed it, and the
leader gives nobody a slot that a member of the group says it owns. So no two processes hold leases with which they own
the same slot. The two ways in which a coordinator removes a member without being asked to bound the lease, each counted
from the moment at which this member *sent* a request, which is before the coordinator received it:

1. *The session.* The coordinator removes a member that it has not heard of for the session timeout. Every answer that
   proves that it took a request as a sign of life moves this end: sent + session timeout.
2. *The rebalance timeout.* The coordinator removes a member, however alive, that has not joined anew within the
   rebalance timeout of the moment at which it began to prepare a rebalance, or (since Kafka 3.0) not synced within as
   much of the moment at which all had joined. So a heartbeat answered REBALANCE_IN_PROGRESS is a sign of life, and yet
   does not move this end; an answer from a quiet group does, and so does that to a join: sent + rebalance timeout.

The earlier of the two, less a margin, is the end. An answer to a request that was sent after the end moves nothing, and
a lease that has ended does not go on: a coordinator that is still loading the group answers every heartbeat NONE,
whoever sends it (`GroupCoordinator.handleHeartbeat`), and so only a new generation gives slots again. An answer of that
kind to a request sent in time does no harm: a coordinator that takes over restarts the sessions of all members that
stand in the log when it has loaded them, which is later; and what was in the log before it took over, which is before
the request was sent, was written while the lease was valid, so it does not give the slots to anybody else.

**Its limits.** (a) A check and an act are never one: what a process handed to a socket just before it was stopped may
go out when it goes on. (b) The clock must go on while the process, or its machine, stands still; one that stops with a
suspended machine (CLOCK_MONOTONIC) does not do. (c) Clocks may differ in speed by no more than the margin in a session.
(d) Whoever removes a member by hand (`removeMembersFromConsumerGroup`), or makes the cluster forget the group (an
unclean election of its partition of `__consumer_offsets`), gives its slots away up to a session timeout too early;
members remove others, too, but only the dead, who serve nothing (`first_moment`). (e) Until the first generation of a
group is complete, no coordinator but the present one knows its members; see `first_moment` on how a process serves
before that.
In each of these cases two processes may give out the same records for that time. What they write is fenced by the log.
"""

from kproxy.fleet.limits import FleetLimits


class Lease:
    """One member's. Times are of a monotonic clock, in milliseconds."""

    __slots__ = ("_alive_ms", "_limits", "_quiet_ms")

    def __init__(self, limits: FleetLimits) -> None:
        self._limits = limits
        self._alive_ms: int | None = None
        self._quiet_ms = 0

    @property
    def ends_at_ms(self) -> int | None:
        """The first moment at which it is over; None when there is none."""
        if self._alive_ms is None:
            return None
        limits = self._limits
        return (
            min(self._alive_ms + limits.session_timeout_ms, self._quiet_ms + limits.rebalance_timeout_ms)
            - limits.lease_margin_ms
        )

    def is_held(self, now_ms: int) -> bool:
        """Tell whether it is valid at `now_ms`."""
        ends_at_ms = self.ends_at_ms
        return ends_at_ms is not None and now_ms < ends_at_ms

    def begin(self, sent_ms: int) -> None:
        """Hold it from now on: a request sent at `sent_ms` was answered with slots, by a group that was quiet."""
        self._alive_ms = self._quiet_ms = sent_ms

    def renew(self, sent_ms: int, *, is_quiet: bool) -> None:
        """Move its end for a request that was answered.

        Args:
            sent_ms: when the request was sent; after the end of the lease it counts for nothing.
            is_quiet: whether no rebalance was being prepared when it was answered, or this member's join was complete.
        """
        if self._alive_ms is None or not self.is_held(sent_ms):
            return
        self._alive_ms = max(self._alive_ms, sent_ms)
        if is_quiet:
            self._quiet_ms = max(self._quiet_ms, sent_ms)

    def end(self) -> None:
        """Give it up."""
        self._alive_ms = None
