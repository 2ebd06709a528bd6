"""The part of the table of keys about authorization."""

from dataclasses import fields

import pytest

from kproxy.settings.authorizer_keys import AuthorizerSettings
from kproxy.settings.fleet_keys import FleetSettings
from kproxy.settings.key_table import KEYS
from kproxy.settings.value_kinds import principal_names


def test_its_keys_follow_those_of_the_fleet_in_the_whole_table() -> None:
    names = [row.metadata["name"] for row in fields(AuthorizerSettings)]
    assert list(KEYS)[: len(names)] == names
    assert names[len(fields(FleetSettings)) :] == [
        "super.users",
        "allow.everyone.if.no.acl.found",
        "kproxy.authorizer.source",
        "kproxy.authorizer.refresh.ms",
        "kproxy.authorizer.max.age.ms",
    ]


def test_super_users_are_written_as_brokers_have_them() -> None:
    kind = principal_names()
    assert kind.parse("User:admin; User:CN=kafka,O=acme;") == ("User:admin", "User:CN=kafka,O=acme")
    assert kind.parse("") == ()
    assert kind.write(("User:admin", "User:bob")) == "User:admin;User:bob"


@pytest.mark.parametrize("text", ["admin", "User:", ":admin"])
def test_a_super_user_without_type_or_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected TYPE:NAME, such as User:admin, and not"):
        principal_names().parse(text)
