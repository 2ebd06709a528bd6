"""`FleetLimits`: the times and bounds of a membership."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FleetLimits:
    """Times are in milliseconds. Raises ValueError when they contradict each other."""

    session_timeout_ms: int = 6_000
    """After how long without a sign of life the coordinator removes a member. Brokers refuse less than their
    `group.min.session.timeout.ms`, which is 6 s by default."""
    heartbeat_interval_ms: int = 1_500
    """How often a member says that it is alive, and so how late it hears of a rebalance."""
    hurried_interval_ms: int = 200
    """The same while slots are on the way from one member to another: nobody serves a slot that was given up until
    everybody has joined anew."""
    rebalance_timeout_ms: int = 10_000
    """For how long the coordinator waits for members to join anew, and then to sync, before it removes them. The lease
    ends with it (see `lease`), so it is to be longer than a session that ends in the middle of a rebalance."""
    lease_margin_ms: int = 500
    """How much earlier than its coordinator a member takes its lease to be over: for clocks that run at different
    speeds, and for what was begun just before."""
    moves_at_once: int = 4
    """How many slots one owner is asked to give up in one generation at most."""
    give_up_patience_ms: int = 2_000
    """How long a slot that is slow to be given up holds up those that were."""

    def __post_init__(self) -> None:
        """Check that they fit together."""
        if self.lease_margin_ms * 2 > self.session_timeout_ms:
            raise ValueError(
                f"lease margin {self.lease_margin_ms} ms is more than half of the session timeout, "
                f"{self.session_timeout_ms} ms"
            )
        if self.heartbeat_interval_ms * 3 > self.session_timeout_ms:
            raise ValueError(
                f"heartbeat interval {self.heartbeat_interval_ms} ms is more than a third of the session timeout, "
                f"{self.session_timeout_ms} ms"
            )
        if self.rebalance_timeout_ms < self.session_timeout_ms + self.heartbeat_interval_ms:
            raise ValueError(
                f"rebalance timeout {self.rebalance_timeout_ms} ms is less than session timeout and heartbeat interval "
                f"together, {self.session_timeout_ms + self.heartbeat_interval_ms} ms"
            )
