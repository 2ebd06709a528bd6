"""Texts of addresses are those of Java, whatever form they come in."""

import pytest

from kproxy.security.client_hosts import host_address


@pytest.mark.parametrize(
    ("host", "told"),
    [
        ("2001:db8::7", "2001:db8:0:0:0:0:0:7"),
        ("2001:DB8:0:0:0:0:0:07", "2001:db8:0:0:0:0:0:7"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("::", "0:0:0:0:0:0:0:0"),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1%eth0"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("::ffff:a00:7", "10.0.0.7"),
        ("10.0.0.7", "10.0.0.7"),
    ],
)
def test_an_address_is_written_as_java_writes_it(host: str, told: str) -> None:
    assert host_address(host) == told


@pytest.mark.parametrize("host", ["*", "", "broker.example", "2001:db8::7::1", "a:b", "10.0.0.7:9092", "?"])
def test_what_is_no_address_stays_as_it_is(host: str) -> None:
    assert host_address(host) == host
