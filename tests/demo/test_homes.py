import socket

from tests.demo.homes import connected_to


def test_what_a_process_is_connected_to_is_seen_and_what_it_was_is_not() -> None:
    # Given
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        client = socket.create_connection(address)

        # When
        while_connected = connected_to()
        client.close()

    # Then
    assert address in while_connected
    assert address not in connected_to()


def test_a_process_that_has_ended_is_connected_to_nothing() -> None:
    # Given
    no_process = 2**22 + 1  # above the highest process id that Linux gives

    # When
    connections = connected_to(no_process)

    # Then
    assert connections == []
