"""The part of the table of keys about limits."""

from dataclasses import fields

import pytest

from kproxy.settings import KEYS, Settings
from kproxy.settings.authorizer_keys import AuthorizerSettings
from kproxy.settings.limit_keys import LimitSettings


def test_its_keys_follow_those_of_the_authorizer_in_the_whole_table() -> None:
    names = [row.metadata["name"] for row in fields(LimitSettings)]
    assert list(KEYS)[: len(names)] == names
    assert names[len(fields(AuthorizerSettings))] == "max.connections"


@pytest.mark.parametrize(
    ("key", "default"),
    [
        ("max.connections", "2147483647"),
        ("max.connections.per.ip", "2147483647"),
        ("max.connections.per.ip.overrides", ""),
        ("connections.max.idle.ms", "600000"),
    ],
)
def test_what_kafka_names_has_the_default_of_kafka(key: str, default: str) -> None:
    assert KEYS[key].default == default


def test_where_nobody_says_how_much_may_be_held_it_follows_from_the_memory_there_is() -> None:
    assert Settings().max_buffered_bytes is None
    assert KEYS["kproxy.max.buffered.bytes"].default == "auto"
