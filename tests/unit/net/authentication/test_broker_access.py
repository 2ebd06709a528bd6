"""How brokers let kproxy in."""

from kproxy.net.authentication.broker_access import BrokerAccess
from kproxy.net.authentication.credentials import PasswordCredentials
from kproxy.net.tasks import TaskKeeper


async def test_each_connection_has_a_session_of_its_own_where_brokers_ask() -> None:
    # Given
    access = BrokerAccess(credentials=PasswordCredentials("PLAIN", "kproxy", lambda: "pencil"))

    # When
    sessions = [access.new_session(TaskKeeper()) for _ in range(2)]

    # Then
    assert None not in sessions
    assert sessions[0] is not sessions[1]


async def test_where_brokers_do_not_ask_there_is_none() -> None:
    assert BrokerAccess().new_session(TaskKeeper()) is None
