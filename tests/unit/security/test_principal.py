from kproxy.security.principal import ANONYMOUS, Principal


def test_a_principal_is_written_as_in_an_access_control_list() -> None:
    # When, then
    assert [str(Principal("User", "alice")), str(ANONYMOUS)] == ["User:alice", "User:ANONYMOUS"]
