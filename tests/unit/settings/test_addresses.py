import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.settings.addresses import HostPort, check_host, parse_host_port


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9092", HostPort("127.0.0.1", 9092)),
        ("broker-1.example.com:65535", HostPort("broker-1.example.com", 65535)),
        ("[::1]:19092", HostPort("::1", 19092)),
        (" localhost:0 ", HostPort("localhost", 0)),
    ],
)
def test_an_address_is_read_as_host_and_port(text: str, address: HostPort) -> None:
    assert parse_host_port(text, first_port=0) == address


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "the port is missing"),
        ("localhost", "the port is missing"),
        (":9092", "expected a host name or an address, and it is empty"),
        ("localhost:", "expected a port from 1 to 65535, not ''"),
        ("localhost:kafka", "expected a port from 1 to 65535, not 'kafka'"),
        ("localhost:0", "expected a port from 1 to 65535, not '0'"),
        ("localhost:65536", "expected a port from 1 to 65535, not '65536'"),
        ("localhost:\u0663", "expected a port from 1 to 65535"),
        ("::1:9092", "an IPv6 address needs brackets"),
        ("PLAINTEXT://localhost:9092", "without a protocol in front"),
        ("local host:9092", "' ' belongs in neither"),
    ],
)
def test_an_address_that_cannot_be_read_is_refused_with_the_reason(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_host_port(text, first_port=1)


@given(host=st.sampled_from(["localhost", "10.0.0.1", "::1", "fe80::1%eth0"]), port=st.integers(0, 65535))
def test_an_address_is_written_as_it_is_read(host: str, port: int) -> None:
    assert parse_host_port(str(HostPort(host, port)), first_port=0) == HostPort(host, port)


def test_a_wildcard_host_collides_with_every_host_on_the_same_port() -> None:
    # Given
    everywhere = HostPort("0.0.0.0", 9644)

    # When
    collisions = [everywhere.collides_with(HostPort(host, 9644)) for host in ("127.0.0.1", "::", "10.0.0.1")]

    # Then
    assert collisions == [True, True, True]


@pytest.mark.parametrize(
    "other", [HostPort("10.0.0.1", 9644), HostPort("127.0.0.1", 9645), HostPort("127.0.0.1", 0)]
)
def test_addresses_that_differ_in_host_or_port_do_not_collide(other: HostPort) -> None:
    assert not HostPort("127.0.0.1", 9644).collides_with(other)


def test_port_0_collides_with_nothing() -> None:
    assert not HostPort("127.0.0.1", 0).collides_with(HostPort("127.0.0.1", 0))


def test_a_host_with_a_strange_character_is_refused() -> None:
    with pytest.raises(ValueError, match="'/' belongs in neither"):
        check_host("kproxy/path")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_what_only_this_machine_can_connect_to_is_known(host: str) -> None:
    assert HostPort(host, 1).is_loopback


@pytest.mark.parametrize("host", ["10.0.0.7", "::", "0.0.0.0", "kproxy-0.svc", "localhost.example.com"])
def test_whatever_others_may_connect_to_is_no_loopback(host: str) -> None:
    assert not HostPort(host, 1).is_loopback
