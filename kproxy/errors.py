"""The exception tree. Those that reach the wire carry their `ErrorCode`.

Every class says who raises it, who handles it and what the peer is told (style guide, rule 8).
"""

from enum import IntEnum
from typing import ClassVar, Final, Self

from kproxy.error_codes import ErrorCode

MOST_ERROR_CHARACTERS: Final = 8_000
"""So many, of four bytes at most each, are told and logged. Errors name what clients sent, which may be megabytes; a
string of the protocol ends at 32,767 bytes, and a longer one could not be answered at all."""


def told(text: str) -> str:
    """Return `text` with `MOST_ERROR_CHARACTERS` at most: what is longer ends with an ellipsis."""
    return text if len(text) <= MOST_ERROR_CHARACTERS else f"{text[: MOST_ERROR_CHARACTERS - 1]}…"


class ExitCode(IntEnum):
    """How a command ends. Scripts hold on to these numbers."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    CANNOT_CONNECT = 4
    CHECK_FAILED = 5
    PARTIAL_FAILURE = 6


class KproxyError(Exception):
    """The root: whatever kproxy raises on purpose. Handled where a narrower class is named."""


class MalformedMessage(KproxyError):
    """Bytes that are no such message: too short, a length out of bounds, text that is no UTF-8.

    Raised by `kproxy.wire`, and nothing else escapes from there. A connection that met one is closed with a
    log line and a counter; a response of a broker ends the connection to that broker.
    """


class SettingsError(KproxyError):
    """A configuration that cannot be used. Raised by `kproxy.settings`; the command line prints it and exits with 2."""


class ApiError(KproxyError):
    """An answer with an error code. Raised by the domain, turned into a response by the handler of the API.

    Its text has `MOST_ERROR_CHARACTERS` at most: what is longer ends with an ellipsis.
    """

    error_code: ClassVar[ErrorCode] = ErrorCode.UNKNOWN_SERVER_ERROR

    def __str__(self) -> str:
        return told(super().__str__())


class InvalidRequest(ApiError):
    """A request that contradicts itself or the KIP's rules. The peer is told INVALID_REQUEST with the reason."""

    error_code = ErrorCode.INVALID_REQUEST


class InvalidRecordState(ApiError):
    """An acknowledgement for a record that the member does not hold. Raised by `SharePartition`; told per partition."""

    error_code = ErrorCode.INVALID_RECORD_STATE


class ShareSessionNotFound(ApiError):
    """A share session epoch other than 0 for a session that is not open (any more). The client opens a new one."""

    error_code = ErrorCode.SHARE_SESSION_NOT_FOUND


class InvalidShareSessionEpoch(ApiError):
    """A share session epoch that is not the expected one. The client opens a new session."""

    error_code = ErrorCode.INVALID_SHARE_SESSION_EPOCH


class ShareSessionLimitReached(ApiError):
    """The share session cache is full (`group.share.max.share.sessions`). Answered after MaxWaitMs."""

    error_code = ErrorCode.SHARE_SESSION_LIMIT_REACHED


class GroupIdNotFound(ApiError):
    """There is no group of the type that the request is about: none at all, or one of another type."""

    error_code = ErrorCode.GROUP_ID_NOT_FOUND


class NonEmptyGroup(ApiError):
    """What only a group without members can undergo was asked of one that has some."""

    error_code = ErrorCode.NON_EMPTY_GROUP


class ImpossiblePartition(ApiError):
    """A negative partition, or a partition of a group without an id, in a request about the offsets of share groups.

    Told as UNKNOWN_SERVER_ERROR, for groups as a whole: the stock coordinator's persister throws
    IllegalArgumentException (`DefaultStatePersister.validate`).
    """


class InvalidGroupId(ApiError):
    """A request about a group that names none: the group id is empty."""

    error_code = ErrorCode.INVALID_GROUP_ID


class GroupAuthorizationFailed(ApiError):
    """The principal may not do to the group what it asks for. Raised by `handlers.authorization`."""

    error_code = ErrorCode.GROUP_AUTHORIZATION_FAILED


class TopicAuthorizationFailed(ApiError):
    """The same of a topic: told per topic, of a heartbeat as a whole."""

    error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED


class ClusterAuthorizationFailed(ApiError):
    """The same of the cluster."""

    error_code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


class TransactionalIdAuthorizationFailed(ApiError):
    """The same of a transactional id."""

    error_code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


class InconsistentGroupProtocol(ApiError):
    """A JoinGroup with the id of a share group: no classic group can be called so."""

    error_code = ErrorCode.INCONSISTENT_GROUP_PROTOCOL


class UnknownMemberId(ApiError):
    """A heartbeat with an epoch above 0, or -1, of no member of the group. The client rejoins with epoch 0."""

    error_code = ErrorCode.UNKNOWN_MEMBER_ID


class FencedMemberEpoch(ApiError):
    """A heartbeat whose member epoch is neither the current nor the previous one. The client rejoins with epoch 0."""

    error_code = ErrorCode.FENCED_MEMBER_EPOCH


class GroupMaxSizeReached(ApiError):
    """A join to a group that has `group.share.max.size` members already."""

    error_code = ErrorCode.GROUP_MAX_SIZE_REACHED


class PolicyViolation(ApiError):
    """More than the operator allows: of share groups by a principal, or of names in all subscriptions together."""

    error_code = ErrorCode.POLICY_VIOLATION


class InvalidConfig(ApiError):
    """A group configuration with an unknown name or a value out of range."""

    error_code = ErrorCode.INVALID_CONFIG


class CoordinatorNotAvailable(ApiError):
    """Share groups cannot be served right now; the client tries again."""

    error_code = ErrorCode.COORDINATOR_NOT_AVAILABLE


class StateLogUnavailable(CoordinatorNotAvailable):
    """The outcome of a write to the state log is refused or unknown.

    Raised by `StateLog.persist`; the handler discards the share-partition and answers a retriable code.
    """


class StateNotWritten(StateLogUnavailable):
    """A write that is certainly not in the state log: its append was refused, or could not be sent in time.

    Raised as StateLogUnavailable is. The slot goes on: who changed anything takes what is durable, or undoes it.
    """


class StateRefused(StateNotWritten):
    """The leader of the state log will never take what was to be written.

    Raised as StateNotWritten is. Members are told UNKNOWN_SERVER_ERROR: trying again is not expected to help.
    """


class BrokerUnavailable(KproxyError):
    """A backing broker cannot be reached, went away, or answered what it was not asked.

    Raised by `kproxy.net`; handlers answer a retriable code, a relayed connection is closed.
    """

    def again(self) -> Self:
        """Return a new one that says the same, for another task: one that many raise refers to what each handled."""
        return type(self)(*self.args)


class PeerViolation(KproxyError):
    """A client or a backing broker broke the protocol, and its connection cannot go on.

    Raised by `kproxy.interception`; `kproxy.net` counts `reason` (a fixed word), logs `detail` with the peer and
    closes the connection after a small delay. Nothing is sent: a Kafka broker answers such bytes with silence, too.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class SharePartitionFenced(ApiError):
    """A share-partition object that was discarded: its state may differ from what became durable.

    Raised by every method of such a `SharePartition`. Handlers ask the directory for the live one; should a
    client be told all the same, NOT_LEADER_OR_FOLLOWER makes it fetch anew.
    """

    error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER


class UnusableShareState(ApiError):
    """Durable state that cannot be: batches below the start offset, reversed, overlapping, or acquired.

    Raised by `SharePartition` when it is built; the handler logs it and tells the client UNKNOWN_SERVER_ERROR,
    as the stock broker does for a share-partition that it fails to load.
    """


class OffsetNotAvailable(ApiError):
    """The leader could not say where a new share-partition begins (`share.auto.offset.reset`).

    Raised by the share-partition directory, told per partition; the client tries again.
    """

    error_code = ErrorCode.OFFSET_NOT_AVAILABLE


class ShareStateNotInitialized(ApiError):
    """A share-partition without durable state: no heartbeat asked for it, or its group was deleted.

    Raised by the share-partition directory, told per partition as UNKNOWN_SERVER_ERROR, which is what the stock
    broker makes of it.
    """


class ShareStateNotReadable(ApiError):
    """The state log did not answer when a share-partition was to be loaded.

    Raised by the share-partition directory, told per partition as KAFKA_STORAGE_ERROR, upon which clients refresh
    and try again. The stock broker's COORDINATOR_NOT_AVAILABLE makes Java's share consumer throw
    IllegalStateException (`ShareFetchCollector`).
    """

    error_code = ErrorCode.KAFKA_STORAGE_ERROR


class ShareStateStillLoading(KproxyError):
    """Another request loads the share-partition and was not done in time, or its slot is being replayed.

    Raised by the share-partition directory; the fetch leaves the partition out of its answer, as Kafka does.
    """


class SharePartitionElsewhere(ApiError):
    """A share-partition whose slot another process took over.

    Raised by the share-partition directory, told per partition; NOT_LEADER_OR_FOLLOWER makes clients look again.
    """

    error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER


class SharePartitionNotLoaded(ApiError):
    """An acknowledgement for a share-partition that is not live here: kproxy was restarted, or unloaded it.

    Raised by `kproxy.handlers.live.acknowledgements`, told per partition. The records will be delivered again.
    """

    error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class UnreadableFleetData(KproxyError):
    """What a member of the fleet says of itself, or the map that its leader made, cannot be what it says.

    Raised by `kproxy.fleet`. A leader refuses that member slots, by name; a member whose map cannot be read joins anew.
    """


class PeerRefused(KproxyError):
    """Another kproxy process that is not talked to: of another cluster or format, without the secret, or no kproxy.

    `reason` is a fixed word for counters, the text says what is the matter. Raised by `kproxy.fleet`; a listener tells
    the peer, logs it by name and counts it, who dials answers its client with a retriable error.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail

    def __str__(self) -> str:
        return self.detail


class CorruptStateRecord(KproxyError):
    """A log record that cannot be what it says: undecodable, of an unknown type, or impossible in what it claims.

    Raised by `kproxy.statelog` with the `reason` in words and the `offset` of the record (-1: not known there).
    Whoever reads the log stops there, or skips the record when the operator has said so.
    """

    def __init__(self, reason: str, *, offset: int = -1) -> None:
        super().__init__(reason if offset < 0 else f"offset {offset}: {reason}")
        self.reason = reason
        self.offset = offset


class UnsupportedStateRecord(CorruptStateRecord):
    """A log record of a format newer than this kproxy knows; `reason` ends with what to do.

    Raised as the corrupt ones, and never skipped: what a newer kproxy wrote is sound.
    """

    REMEDY: ClassVar = "run the kproxy that wrote it, or a newer one"

    @classmethod
    def newer(cls, found: str, read: object = None) -> Self:
        """Return the error of who `found` this, and reads nothing beyond `read`; None where that is in `found`."""
        limit = "" if read is None else f"; this kproxy reads up to {read}"
        return cls(f"{found}{limit}: {cls.REMEDY}")


class SnapshotMissing(CorruptStateRecord):
    """Updates of a share-partition whose snapshot was not read: the log was read from too late an offset.

    Raised by `StateLogFold.require_snapshots`. A loader that began at a recovery point reads again from the log
    start; one that began there already treats it as the other corrupt records.
    """


class UnwritableStateRecord(ApiError):
    """An operation of which one record cannot be: larger than the state log takes, or than its format has room for.

    Raised by `kproxy.statelog`, before anything of it is sent, for that operation alone. Told as
    UNKNOWN_SERVER_ERROR, which is what the stock coordinators make of a record that is too large
    (`CoordinatorOperationExceptionHelper`): trying again cannot help.
    """


class CoordinatorLoadInProgress(ApiError):
    """The slot of a group or share-partition is being replayed. Raised by the state log; the client tries again."""

    error_code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


class NotCoordinator(ApiError):
    """The slot of a group or share-partition is not owned here (any more). The client looks for its coordinator."""

    error_code = ErrorCode.NOT_COORDINATOR


class FencedLeaderEpoch(ApiError):
    """A read or write of share-partition state under an older leader epoch than the stored one.

    Raised by `ShareCoordinator`; whoever hears it does not hold the share-partition any more.
    """

    error_code = ErrorCode.FENCED_LEADER_EPOCH


class FencedStateEpoch(ApiError):
    """A write to, or an initialization of, share-partition state under an older state epoch than the stored one.

    Raised by `ShareCoordinator`; the state was initialized anew since.
    """

    error_code = ErrorCode.FENCED_STATE_EPOCH


class UnknownTopicOrPartition(ApiError):
    """A topic id or partition that the backing cluster does not have. Told per partition."""

    error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
