"""What becomes of an error code in an answer: try again, or one of the failures that say how a command ends."""

from collections.abc import Sequence
from typing import Final, TypeVar

from kproxy.clients.failures import ClientFailed, NotAllowed, NotThere
from kproxy.error_codes import ErrorCode

T = TypeVar("T")

_LATER: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)
"""Kafka's retriable errors that coordinators and leaders answer while they change, or load."""
_NOT_THERE: Final = frozenset({ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})
_NOT_ALLOWED: Final = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    }
)


class TryAgain(ClientFailed):
    """An answer that another broker, or the same one later, may give otherwise. `failure` is what to say at the end."""

    def __init__(self, failure: ClientFailed) -> None:
        super().__init__(str(failure))
        self.failure = failure


def require_success(error_code: int, asked: str, message: str | None = None) -> None:
    """Return if there is no error; `asked` says in words what could not be done, `message` is the broker's own.

    Raises:
        TryAgain: the coordinator or the leader is about to change.
        NotThere, NotAllowed: there is no such group or topic; this client must not.
        ClientFailed: anything else.
    """
    if error_code != ErrorCode.NONE:
        raise refusal_of(error_code, asked, message)


def refusal_of(error_code: int, asked: str, message: str | None = None) -> ClientFailed:
    """Return the failure that `require_success` raises."""
    if error_code == ErrorCode.UNSUPPORTED_VERSION:
        return ClientFailed(
            f"{asked}: share groups are off in that cluster (UNSUPPORTED_VERSION); switch share.version on, "
            "or give -b the address of the kproxy that stands in front of it"
        )
    text = f"{asked}: {message} ({_name(error_code)})" if message else f"{asked}: {_name(error_code)}"
    if error_code in _LATER:
        return TryAgain(ClientFailed(text))
    if error_code in _NOT_THERE:
        return NotThere(text)
    return NotAllowed(text) if error_code in _NOT_ALLOWED else ClientFailed(text)


def only_result(results: Sequence[T], asked: str) -> T:
    """Return the result of a request that asked for one thing. Raises ClientFailed when there is none, or several."""
    if len(results) != 1:
        raise ClientFailed(f"{asked}: the broker answered with {len(results)} results instead of one")
    return results[0]


def _name(error_code: int) -> str:
    try:
        return ErrorCode(error_code).name
    except ValueError:
        return f"error {error_code}"
