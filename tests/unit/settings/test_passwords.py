import pytest

from kproxy.settings.passwords import Password, password


def test_a_password_is_never_shown() -> None:
    assert f"{Password('geheim')} {Password('geheim')!r}" == "[hidden] [hidden]"


def test_who_has_to_present_it_gets_it() -> None:
    assert password().parse("geheim").reveal() == "geheim"


def test_no_password_is_nothing() -> None:
    assert not password().parse("")
    assert password().write(Password()) == ""


def test_equal_passwords_are_equal() -> None:
    assert {Password("a"), Password("a"), Password("b")} == {Password("b"), Password("a")}


def test_the_text_that_hides_a_password_is_no_password() -> None:
    with pytest.raises(ValueError, match="expected the password itself: kproxy config show hides it"):
        password().parse("[hidden]")
