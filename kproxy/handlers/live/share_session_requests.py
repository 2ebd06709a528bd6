"""Who sends a ShareFetch or a ShareAcknowledge, and under which session: what both APIs check before anything else."""

from dataclasses import dataclass
from typing import Protocol

from kproxy.errors import ShareSessionNotFound
from kproxy.handlers.authorization import Authorization
from kproxy.handlers.request_context import RequestContext
from kproxy.security.acls import AclOperation
from kproxy.share.identifiers import (
    GroupId,
    MemberId,
    ShareSessionEpoch,
    require_group_id,
    require_member_id,
)
from kproxy.share.share_session import (
    FINAL_SHARE_SESSION_EPOCH,
    INITIAL_SHARE_SESSION_EPOCH,
    ShareSession,
    ShareSessionCache,
    ShareSessionKey,
)


class SessionRequest(Protocol):
    """The fields that both requests begin with."""

    group_id: str | None
    member_id: str | None
    share_session_epoch: int


@dataclass(frozen=True, slots=True)
class SessionClaim:
    """The session that a request says it belongs to, and the epoch that it claims."""

    key: ShareSessionKey
    share_session_epoch: ShareSessionEpoch

    @property
    def opens(self) -> bool:
        """The request opens the session."""
        return self.share_session_epoch == INITIAL_SHARE_SESSION_EPOCH

    @property
    def closes(self) -> bool:
        """The request is the last one of the session."""
        return self.share_session_epoch == FINAL_SHARE_SESSION_EPOCH


def session_claim(request: SessionRequest, context: RequestContext) -> SessionClaim:
    """Return the claim of `request`.

    A session belongs to the port it came to: clients open one for every broker that they think they talk to.

    Raises:
        InvalidRequest: the group id is null, or the member id is null, empty or too long.
    """
    group_id: GroupId = require_group_id(request.group_id)
    member_id: MemberId = require_member_id(request.member_id)
    key = ShareSessionKey(context.node_id, group_id, member_id)
    return SessionClaim(key, ShareSessionEpoch(request.share_session_epoch))


async def require_readable_group(
    authorization: Authorization, request: SessionRequest, context: RequestContext
) -> None:
    """Return if the sender may read the group, or names none: that is checked afterwards, as by a stock broker.

    Raises:
        GroupAuthorizationFailed: it may not.
        CoordinatorNotAvailable: that cannot be told.
    """
    if request.group_id is not None:
        await authorization.learn_group(context, AclOperation.READ, request.group_id)
        authorization.require_group(context, AclOperation.READ, request.group_id)


def require_own_session(sessions: ShareSessionCache, claim: SessionClaim, context: RequestContext) -> None:
    """Raise ShareSessionNotFound when the client is gone and `claim` is not about a session of its connection.

    Its member may have begun anew on another connection, under the same key, and what it left behind on this one
    (acknowledgements, the end of a session) is served after that. Nobody is left to open a session for.
    """
    if not context.caller.is_gone:
        return
    session = sessions.get(claim.key)
    if claim.opens or session is None or session.connection_id != context.connection_id:
        raise ShareSessionNotFound(
            f"the connection of this request is gone and has no share session for {claim.key}"
        )


def is_open(sessions: ShareSessionCache, session: ShareSession) -> bool:
    """Tell whether `session` is still the one of its key: neither closed, evicted nor replaced."""
    return sessions.get(session.key) is session
