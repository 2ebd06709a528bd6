"""Clients whose own broker would have to be asked, and none is at hand."""

import pytest

from kproxy.errors import CoordinatorNotAvailable
from kproxy.handlers.asked_rights import ASK_BROKER
from kproxy.security.acls import AclOperation, ResourceType


def test_where_no_broker_can_be_asked_the_client_is_told_to_try_again_and_the_operator_what_to_do() -> None:
    with pytest.raises(CoordinatorNotAvailable, match="let kproxy's principal DESCRIBE the cluster"):
        ASK_BROKER.allows(AclOperation.READ, ResourceType.TOPIC, "orders")
