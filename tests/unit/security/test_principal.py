from kproxy.security.principal import ANONYMOUS, UNKNOWN, Principal


def test_a_principal_is_written_as_in_an_access_control_list() -> None:
    # When, then
    assert [str(Principal("User", "alice")), str(ANONYMOUS)] == ["User:alice", "User:ANONYMOUS"]


def test_what_is_written_is_read_back_whatever_the_name_is() -> None:
    # Given
    principals = [Principal("User", "CN=a:b,O=c"), Principal("User", ""), ANONYMOUS, UNKNOWN]

    # When, then
    assert [Principal.parse(str(principal)) for principal in principals] == principals
