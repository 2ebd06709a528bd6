from kproxy.security.logins import BearerLogin, PlainLogin


def test_plain_says_who_it_is_and_for_nobody_else() -> None:
    # Given
    login = PlainLogin("alice", "wönder")

    # When
    said = [login.begin(), login.answer(b"")]

    # Then
    assert said == ["\0alice\0wönder".encode(), None]


def test_a_token_is_said_once() -> None:
    # Given
    login = BearerLogin("a.b.c")

    # When
    said = [login.begin(), login.answer(b"")]

    # Then
    assert said == [b"n,,\x01auth=Bearer a.b.c\x01\x01", None]


def test_a_token_that_was_refused_lets_the_broker_say_so() -> None:
    assert BearerLogin("a.b.c").answer(b'{"status":"invalid_token"}') == b"\x01"
