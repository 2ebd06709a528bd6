"""What a command line of kproxy says, with the environment and the file that it is given, wherever that is deployed."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kproxy.cli.main import COMMANDS
from kproxy.cli.setting_options import FLAGS
from kproxy.settings import Assignment, LoadedSettings, assignment_of_override, load_settings


def settings_of_run(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    text_of_file: Callable[[str], str],
    folder: Path,
) -> LoadedSettings:
    """Return what `kproxy run` makes of its arguments; `text_of_file` has what it finds in its configuration file.

    Raises:
        SettingsError: kproxy would not start with them.
        click.UsageError: there is no such flag.
    """
    verb, *flags = arguments
    assert verb == "run", f"expected kproxy run, not kproxy {verb}"
    said = COMMANDS["run"].load().make_context("run", flags).params
    assignments = [
        Assignment(flag.key, str(said[flag.parameter]), flag.names[-1])
        for flag in FLAGS
        if said[flag.parameter] is not None
    ]
    assignments += map(assignment_of_override, said["overrides"])
    file: Path | None = said["config_file"]
    found = None
    if file is not None:
        found = folder / file.name
        found.write_text(text_of_file(str(file)), encoding="utf-8")
    loaded = load_settings(file=found, environment=environment, command_line=assignments)
    loaded.ready_to_run()
    return loaded
