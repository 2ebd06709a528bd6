"""The file with the token of the admin port."""

from pathlib import Path
from typing import Final

from kproxy.errors import KproxyError
from kproxy.wording import counted

KEY: Final = "kproxy.admin.token.file"
FEWEST_CHARACTERS: Final = 16
MOST_CHARACTERS: Final = 1024


class AdminTokenUnusable(KproxyError):
    """There is no token in the file that is to have it. Raised by `TokenFile.read`; `kproxy run` says so and exits."""


class TokenFile:
    """A token in a file, read whenever it is wanted, so that who replaces the file replaces the token."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> str:
        """Return the token, without white space around it. Raises AdminTokenUnusable."""
        try:
            with self._path.open("rb") as file:
                token = file.read(MOST_CHARACTERS + 2).decode("ascii").strip()
        except OSError as error:
            raise AdminTokenUnusable(f"{KEY}: {self._path} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError:
            raise AdminTokenUnusable(f"{KEY}: {self._path} has more than ASCII characters in it") from None
        if not FEWEST_CHARACTERS <= len(token) <= MOST_CHARACTERS:
            raise AdminTokenUnusable(
                f"{KEY}: the token in {self._path} has {counted(len(token), 'character')}, expected "
                f"{FEWEST_CHARACTERS} to {MOST_CHARACTERS}; write one with: openssl rand -hex 32"
            )
        if not token.isprintable() or " " in token:
            raise AdminTokenUnusable(f"{KEY}: expected one word in {self._path}, and there are several")
        return token
