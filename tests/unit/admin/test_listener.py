"""The address of the admin port: bound, or refused in words that help."""

import asyncio
import socket

import pytest

from kproxy.admin.listener import AdminListenerUnavailable, bind_listener
from kproxy.settings import HostPort


def test_who_connects_to_a_bound_address_waits() -> None:
    # When
    listening = asyncio.run(bind_listener(HostPort("127.0.0.1", 0)))

    # Then
    socket.create_connection(listening[0].getsockname(), timeout=1).close()
    for each in listening:
        each.close()


def test_a_port_in_use_is_refused_with_what_to_do() -> None:
    # Given
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        # When
        with pytest.raises(AdminListenerUnavailable) as refusal:
            asyncio.run(bind_listener(HostPort("127.0.0.1", port)))

    # Then
    assert str(refusal.value) == (
        f"kproxy.admin.listener = 127.0.0.1:{port} cannot be bound: address already in use; "
        "choose another address, or turn the admin port off with kproxy.admin.listener=none"
    )
