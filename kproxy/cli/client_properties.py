"""The file that Kafka's tools take with `--command-config`, as settings of kproxy's own connections to brokers.

What it says of security becomes the key of the same name with `upstream.` before, and is validated as that; what it
says of anything else concerns other clients. PEM alone is read: stores of Java's are refused with the command that
converts them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kproxy.errors import SettingsError
from kproxy.security.jaas import JaasEntry, read_jaas
from kproxy.settings import KEYS, Assignment, Settings, load_settings
from kproxy.settings.properties_format import read_properties

UPSTREAM: Final = "upstream."
_JAAS: Final = "sasl.jaas.config"
_OPTIONS: Final = {
    "PlainLoginModule": {"username": "sasl.username", "password": "sasl.password"},
    "ScramLoginModule": {"username": "sasl.username", "password": "sasl.password"},
    "OAuthBearerLoginModule": {
        "clientId": "sasl.oauthbearer.client.credentials.client.id",
        "clientSecret": "sasl.oauthbearer.client.credentials.client.secret",
        "scope": "sasl.oauthbearer.scope",
    },
}
"""The keys that options of login modules stand for, by the module's class."""


def settings_of_client(path: Path) -> Settings:
    """Return settings of which those with `upstream.` say how a client of Kafka's with this file reaches brokers.

    Raises:
        SettingsError: lists everything that is wrong, a line each, by the names that the file has.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"--command-config {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"--command-config {path} is not UTF-8 text: byte {error.start} does not fit"
        ) from error
    assignments = [
        assignment
        for found in read_properties(text)
        for assignment in _assignments(found.key, found.value.rstrip(), f"file {path} line {found.line}")
    ]
    try:
        return load_settings(environment={}, command_line=assignments).settings
    except SettingsError as wrong:
        raise SettingsError(in_names_of_clients(str(wrong))) from wrong


def in_names_of_clients(text: str) -> str:
    """Return words about keys with `upstream.` as words about those of Kafka's clients."""
    return text.replace(UPSTREAM, "")


def _assignments(key: str, value: str, origin: str) -> Iterator[Assignment]:
    if key == _JAAS:
        yield from _of_jaas(value, origin)
    elif key.startswith("ssl.") or UPSTREAM + key in KEYS:
        yield Assignment(UPSTREAM + key, value, origin)


def _of_jaas(value: str, origin: str) -> Iterator[Assignment]:
    try:
        entry = read_jaas(value)
    except ValueError as wrong:
        raise SettingsError(f"{_JAAS} ({origin}): {wrong}") from wrong
    known = _OPTIONS.get(entry.module)
    if known is None:
        raise SettingsError(
            f"{_JAAS} ({origin}): kproxy does not know {entry.module}, but {', '.join(_OPTIONS)}"
        )
    for name, text in _said(entry):
        if name not in known:
            raise SettingsError(
                f"{_JAAS} ({origin}): {entry.module} has {', '.join(known)} for kproxy, and not {name}"
            )
        yield Assignment(UPSTREAM + known[name], text, origin)


def _said(entry: JaasEntry) -> Iterator[tuple[str, str]]:
    """Yield what is said beside what is so by default."""
    for name, text in entry.options.items():
        if (name, text.lower()) != ("tokenauth", "false"):
            yield name, text
