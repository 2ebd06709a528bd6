"""The first part of the table of keys."""

from dataclasses import fields

from kproxy.settings.key_table import KEYS
from kproxy.settings.relay_keys import RelaySettings


def test_its_keys_come_first_in_the_whole_table() -> None:
    names = [row.metadata["name"] for row in fields(RelaySettings)]
    assert list(KEYS)[: len(names)] == names
    assert names[0] == "bootstrap.servers"
