"""The part of the table of keys about the fleet."""

from dataclasses import fields

from kproxy.settings import HostPort, Settings
from kproxy.settings.fleet_keys import FleetSettings
from kproxy.settings.key_table import KEYS
from kproxy.settings.sasl_keys import SaslSettings


def test_its_keys_follow_those_of_tls_in_the_whole_table() -> None:
    names = [row.metadata["name"] for row in fields(FleetSettings)]
    assert list(KEYS)[: len(names)] == names
    assert {name.rpartition("fleet.")[0] for name in names[len(fields(SaslSettings)) :]} == {"kproxy."}


def test_a_process_is_reached_at_the_host_that_it_listens_on_unless_another_one_is_named() -> None:
    listening = Settings(fleet_listener=HostPort("10.0.0.7", 19093))
    assert listening.fleet_advertised_host == "10.0.0.7"
    named = Settings(fleet_listener=HostPort("0.0.0.0", 19093), fleet_advertised_host="kproxy-0.svc")
    assert named.fleet_advertised_host == "kproxy-0.svc"


def test_processes_with_one_state_topic_are_one_fleet_unless_a_group_is_named() -> None:
    assert Settings(state_topic_name="state").fleet_group == "state"
    assert Settings(state_topic_name="state", fleet_group="a fleet").fleet_group == "a fleet"
