"""`PeerLimits`: the times and bounds of connections between processes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PeerLimits:
    """Times are in milliseconds."""

    connect_timeout_ms: int = 2_000
    """How long a peer is dialled. Processes of one fleet are neighbours, and clients wait behind the dial."""
    preamble_ms: int = 3_000
    """How long the preamble may take, on either side."""
    patience_ms: int = 25_000
    """How long a peer may be silent before its answer, beside the MaxWaitMs of a fetch: longer than a request waits at
    its door (15 s), a write to the state log takes (5 s) and a refusal is held (3.2 s), and less than the 30 s after
    which clients give up by default. A process that left the fleet is given up before."""
    stall_ms: int = 10_000
    """How long it may be silent in the middle of an answer that is read."""
    farewell_ms: int = 10_000
    """How long a connection whose client has gone stays, for the peer to serve what that had sent."""
    most_unproved: int = 1_024
    """How many connections may be in their preamble at a time; the oldest makes room for one more."""
    most_dials: int = 32
    """How many connections to one peer may be in the making at a time; the others wait, within `connect_timeout_ms`."""
    most_answer_bytes: int = 64 << 20
    """The largest answer that is held whole."""
