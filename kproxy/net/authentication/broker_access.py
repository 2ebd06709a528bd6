"""`BrokerAccess`: how the backing brokers let kproxy's own connections in."""

from dataclasses import dataclass

from kproxy.net.authentication.credentials import Credentials
from kproxy.net.authentication.sasl_session import SaslSession
from kproxy.net.dialing import TlsContext
from kproxy.net.tasks import TaskKeeper


@dataclass(frozen=True, slots=True)
class BrokerAccess:
    """What connections are encrypted with and authenticate with; None for neither."""

    tls: TlsContext | None = None
    credentials: Credentials | None = None

    def new_session(self, tasks: TaskKeeper) -> SaslSession | None:
        """Return what authenticates a new connection, None where brokers do not ask. Its renewals are `tasks`."""
        return None if self.credentials is None else SaslSession(self.credentials, tasks)
