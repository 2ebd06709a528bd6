"""The places a key can be set in, each read into assignments: files, the environment, the command line."""

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kproxy.errors import SettingsError
from kproxy.settings.key_table import KEYS
from kproxy.settings.keys_without_effect import KEYS_WITHOUT_EFFECT
from kproxy.settings.passwords import HIDDEN
from kproxy.settings.properties_format import read_properties

ENVIRONMENT_PREFIX: Final = "KPROXY_"

SWITCHES: Final = frozenset({"KPROXY_ADMIN_URL", "KPROXY_CODEC"})
"""Variables with the prefix that are no keys: where commands find a running kproxy, and a switch for tests."""

_VARIABLES_WITHOUT_EFFECT: Final = {
    f"{ENVIRONMENT_PREFIX}{key.replace('.', '_').upper()}": reason
    for key, reason in KEYS_WITHOUT_EFFECT.items()
}

_SERVICE_LINK: Final = re.compile(
    r"KPROXY(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?"
    r"|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)"
)
"""What Kubernetes sets in every container beside a Service named `kproxy…`; it is not meant for us."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """One place said: this key has this value. `origin` names the place as a person would look for it."""

    key: str
    text: str
    origin: str


def assignments_in_file(path: Path) -> list[Assignment]:
    """Read a `.toml` or a `.properties` file; the name's ending says which.

    In TOML, tables nest as keys do (`[kproxy.broker] port.start = 19100`), a quoted key may be written whole,
    and a list stands for values separated by commas.

    Raises:
        SettingsError: the file cannot be read, or is no such file.
    """
    reader = _FILE_READERS.get(path.suffix)
    if reader is None:
        raise SettingsError(f"configuration file {path}: the name must end in .toml or .properties")
    try:
        return list(reader(path.read_text(encoding="utf-8"), path))
    except OSError as error:
        raise SettingsError(f"configuration file {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"configuration file {path} is not UTF-8 text: byte {error.start} does not fit"
        ) from error
    except tomllib.TOMLDecodeError as error:
        hint = "if one key begins with the whole of another, quote both"
        raise SettingsError(f"configuration file {path} is not TOML: {error} ({hint})") from error


def assignments_in_environment(environment: Mapping[str, str]) -> list[Assignment]:
    """Read every `KPROXY_…` variable but the switches and Kubernetes' service links.

    A variable that stands for no key becomes an assignment to a key of that name, which nobody knows.
    """
    key_of = {key.environment_name: key.name for key in KEYS.values()}
    return [
        Assignment(key_of.get(name, name), text, f"environment variable {name}")
        for name, text in environment.items()
        if name.startswith(ENVIRONMENT_PREFIX) and (name in key_of or not _is_none_of_ours(name))
    ]


def assignment_of_override(text: str) -> Assignment:
    """Read the `KEY=VALUE` of a `-X`.

    Raises:
        SettingsError: there is no `=` in it.
    """
    key, equals, value = text.partition("=")
    if not equals:
        raise SettingsError(f"-X {text}: expected KEY=VALUE, as in -X kproxy.log.level=debug")
    return Assignment(key.strip(), value.strip(), "-X")


def problems_of_source(assignments: Iterable[Assignment]) -> Iterator[str]:
    """Yield a sentence for each key that nobody knows, and for each that one source gives two values."""
    seen: dict[str, Assignment] = {}
    for assignment in assignments:
        if assignment.key not in KEYS:
            yield _unknown(assignment)
            continue
        earlier = seen.setdefault(assignment.key, assignment)
        if earlier.text != assignment.text:
            yield (
                f"{assignment.key} is {_shown(earlier)} ({earlier.origin}) and {_shown(assignment)} "
                f"({assignment.origin}): keep one of them"
            )


def _shown(assignment: Assignment) -> str:
    return HIDDEN if KEYS[assignment.key].kind.is_secret else repr(assignment.text)


def _is_none_of_ours(name: str) -> bool:
    return name in SWITCHES or _SERVICE_LINK.fullmatch(name) is not None


def _unknown(assignment: Assignment) -> str:
    said = f"unknown key {assignment.key!r} ({assignment.origin})"
    if assignment.key.startswith("sasl."):
        return f"{said}: SASL passes through kproxy; kproxy's own connections have upstream.{assignment.key.lower()}"
    without_effect = {**KEYS_WITHOUT_EFFECT, **_VARIABLES_WITHOUT_EFFECT}.get(assignment.key)
    if without_effect:
        return f"{said} has no effect in kproxy, {without_effect}: remove it"
    is_variable = assignment.key.startswith(ENVIRONMENT_PREFIX)
    known = [key.environment_name for key in KEYS.values()] if is_variable else list(KEYS)
    close = difflib.get_close_matches(assignment.key, known, n=1)
    if close:
        return f"{said}: did you mean {close[0]}?"
    return f"{said}: kproxy config show lists every key"


def _properties_assignments(text: str, path: Path) -> Iterator[Assignment]:
    for found in read_properties(text):
        yield Assignment(found.key, found.value.rstrip(), f"file {path} line {found.line}")


def _toml_assignments(text: str, path: Path) -> Iterator[Assignment]:
    for key, value in _flattened(tomllib.loads(text), ""):
        yield Assignment(key, value, f"file {path}")


def _flattened(table: Mapping[str, object], prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and key not in KEYS:
            yield from _flattened(value, f"{key}.")
        else:
            yield key, _text_of_toml(value)


def _text_of_toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(map(_text_of_toml, value))
    if isinstance(value, dict):
        return ",".join(f"{name}={_text_of_toml(item)}" for name, item in value.items())
    return str(value)


_FILE_READERS: Final[Mapping[str, Callable[[str, Path], Iterator[Assignment]]]] = {
    ".toml": _toml_assignments,
    ".properties": _properties_assignments,
}
