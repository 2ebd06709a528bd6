"""Expected values are what `X500Principal.getName` of JDK 17 gave for the same certificates."""

import pytest

from kproxy.security.subject_names import NameAttribute, subject_name

COMMON_NAME = "2.5.4.3"


def common_name(text: str) -> NameAttribute:
    return NameAttribute(COMMON_NAME, text, b"")


def test_the_most_specific_part_comes_first() -> None:
    # Given
    parts = [[NameAttribute("2.5.4.6", "DE", b"")], [NameAttribute("2.5.4.10", "Acme, Inc.", b"")]]

    # Then
    assert subject_name([*parts, [common_name("alice")]]) == r"CN=alice,O=Acme\, Inc.,C=DE"


def test_attributes_of_one_part_are_joined() -> None:
    # Given
    user_id = NameAttribute("0.9.2342.19200300.100.1.1", "b7", b"")

    # Then
    assert subject_name([[common_name("bob"), user_id]]) == "CN=bob+UID=b7"


def test_an_attribute_without_a_word_in_rfc_2253_is_a_number_and_bytes() -> None:
    # Given
    email = NameAttribute("1.2.840.113549.1.9.1", "a@b.c", bytes.fromhex("16056140622e63"))

    # Then
    assert subject_name([[email]]) == "1.2.840.113549.1.9.1=#16056140622e63"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (' #x=1;<y>"\\ ', r"\ \#x\=1\;\<y\>\"\\\ "),
        ("Zoë 東", "Zoë 東"),
        ("  two  ", r"\ \ two\ \ "),
        ("a\nb\x00c\rd\t", "a\nb\\00c\rd\t"),
        ("#lead", r"\#lead"),
        ("   ", r"\ \ \ "),
        ("", ""),
    ],
)
def test_what_has_a_meaning_of_its_own_is_escaped(text: str, written: str) -> None:
    assert subject_name([[common_name(text)]]) == f"CN={written}"


def test_a_certificate_without_a_subject_has_an_empty_name() -> None:
    assert subject_name([]) == ""
