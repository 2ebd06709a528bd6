from pathlib import Path

import pytest

from kproxy.admin.entrance.token_file import AdminTokenUnusable, TokenFile

TOKEN = "0123456789abcdef"


def test_a_token_is_read_anew_without_white_space_around_it(tmp_path: Path) -> None:
    # Given
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    file = TokenFile(path)
    first = file.read()
    path.write_text(f"  {TOKEN}-new\n")

    # When
    second = file.read()

    # Then
    assert (first, second) == (TOKEN, f"{TOKEN}-new")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"short", "has 5 characters, expected 16 to 1024; write one with: openssl rand -hex 32"),
        (b"", "has 0 characters, expected"),
        (b"x" * 2000, "has 1026 characters, expected"),
        ("ä".encode() * 20, "has more than ASCII characters in it"),
        (b"two words of sufficient length", "and there are several"),
    ],
)
def test_what_is_no_token_is_refused_by_the_name_of_the_key(
    tmp_path: Path, content: bytes, complaint: str
) -> None:
    # Given
    path = tmp_path / "token"
    path.write_bytes(content)

    # When
    with pytest.raises(AdminTokenUnusable) as refused:
        TokenFile(path).read()

    # Then
    assert str(refused.value).startswith("kproxy.admin.token.file: ")
    assert complaint in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(AdminTokenUnusable, match=r"token cannot be read: No such file"):
        TokenFile(tmp_path / "token").read()
