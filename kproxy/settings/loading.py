"""From what each place says to one validated `Settings`, with the origin of every value."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from kproxy.errors import SettingsError
from kproxy.settings.consistency import contradictions
from kproxy.settings.key_table import KEYS, Settings
from kproxy.settings.sources import (
    Assignment,
    assignments_in_environment,
    assignments_in_file,
    problems_of_source,
)

DEFAULT_ORIGIN: Final = "default"


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """Validated settings, and for every key where its value came from."""

    settings: Settings
    origins: Mapping[str, str]
    read_again: "Callable[[], LoadedSettings] | None" = field(default=None, compare=False, repr=False)
    """Reads everything once more, as of now; None where no file was read, so that nothing can have changed."""

    def differing_keys(self, other: "LoadedSettings") -> list[str]:
        """Return the keys that `other` gives another value."""
        return [
            name
            for name, key in KEYS.items()
            if getattr(self.settings, key.attribute) != getattr(other.settings, key.attribute)
        ]

    def ready_to_run(self) -> Settings:
        """Return the settings if they say all that a running kproxy needs.

        Raises:
            SettingsError: there is no backing cluster to stand in front of.
        """
        if not self.settings.bootstrap_servers:
            raise SettingsError(
                "bootstrap.servers is not set: name the backing cluster with -b HOST:PORT, with "
                "KPROXY_BOOTSTRAP_SERVERS or in the configuration file"
            )
        return self.settings


def load_settings(
    *,
    file: Path | None = None,
    environment: Mapping[str, str],
    command_line: Sequence[Assignment] = (),
) -> LoadedSettings:
    """Read and validate the configuration; the command line wins over the environment, that over the file.

    Within one of the three a key may be repeated but not contradicted: a flag and a `-X` that set the same
    key to different values are an error, as are two lines of a file.

    Raises:
        SettingsError: lists everything that is wrong, a line each, with the value, its origin and what to do.
    """
    sources = [
        assignments_in_file(file) if file else [],
        assignments_in_environment(environment),
        command_line,
    ]
    problems = [problem for source in sources for problem in problems_of_source(source)]
    chosen = {
        assignment.key: assignment for source in sources for assignment in source if assignment.key in KEYS
    }
    settings = _settings_of(chosen.values(), problems)
    origins = {name: chosen[name].origin if name in chosen else DEFAULT_ORIGIN for name in KEYS}

    def said(name: str) -> str:
        return f"{name} = {KEYS[name].text_in(settings)} ({origins[name]})"

    _refuse(list(contradictions(settings, said)))
    if file is None:
        return LoadedSettings(settings, origins)
    again = partial(load_settings, file=file, environment=environment, command_line=command_line)
    return LoadedSettings(settings, origins, again)


def _settings_of(assignments: Iterable[Assignment], problems: Sequence[str]) -> Settings:
    values: dict[str, object] = {}
    found = list(problems)
    for assignment in assignments:
        key = KEYS[assignment.key]
        try:
            values[key.attribute] = key.kind.parse(assignment.text)
        except ValueError as error:
            found.append(f"{assignment.key} = {assignment.text!r} ({assignment.origin}): {error}")
    _refuse(found)
    return Settings(**values)  # type: ignore[arg-type]  # each value comes from the kind of its own field


def _refuse(problems: Sequence[str]) -> None:
    if problems:
        raise SettingsError("\n".join(problems))
