import os
import subprocess
import sys
from collections.abc import Iterator, Mapping

import click
import pytest
from click.testing import CliRunner

from kproxy.cli.main import COMMANDS, cli, main
from kproxy.jobs.command_line import jobs

HEAVY = ("kafka", "aiohttp", "pyspark", "uvloop", "prometheus_client", "construct", "asyncio", "rich")
NAMES = (
    "run",
    "status",
    "groups",
    "top",
    "why",
    "brokers",
    "sessions",
    "in-flight",
    "log",
    "replay",
    "doctor",
    "decode",
    "config",
    "completion",
    "version",
)
HELP_AND_WHAT_IT_IMPORTED = """
import sys
from kproxy.cli.main import main
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
print("imported", *sorted({name.partition(".")[0] for name in sys.modules}))
"""


def python(*arguments: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
        env={**os.environ, **(environment or {})},
    )


def test_help_imports_nothing_heavy() -> None:
    """`kproxy --help` answers in under 150 ms: what is slow to import waits for the command that needs it."""
    # When
    ended = python("-c", HELP_AND_WHAT_IT_IMPORTED, "--help")

    # Then
    assert ended.returncode == 0, ended.stderr
    imported = ended.stdout.splitlines()[-1].split()
    assert "click" in imported
    assert not set(HEAVY) & set(imported)


def test_help_lists_every_command_with_its_purpose() -> None:
    # When
    result = CliRunner().invoke(cli, ["--help"])

    # Then
    assert result.exit_code == 0
    assert [
        line.split()[0]
        for line in result.output.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    ] == list(NAMES)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_there_and_its_purpose_is_the_first_sentence_of_its_help(name: str) -> None:
    # When
    command = COMMANDS[name].load()

    # Then
    assert command.name == name
    assert command.help
    assert command.help.startswith(COMMANDS[name].purpose.removesuffix("."))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    # When
    explained = python("-m", "kproxy", name, "--help")

    # Then
    assert explained.returncode == 0
    assert explained.stdout.startswith(f"Usage: kproxy {name} ")


def test_a_shell_is_offered_every_command() -> None:
    # When
    offered = cli.shell_complete(click.Context(cli), "")

    # Then
    assert [completion.value for completion in offered] == list(NAMES)


def test_no_arguments_show_the_help_as_wrong_usage() -> None:
    # When
    result = CliRunner().invoke(cli, [])

    # Then
    assert result.exit_code == 2
    assert "Commands:" in result.output


def test_an_unknown_command_is_wrong_usage() -> None:
    # When
    result = CliRunner().invoke(cli, ["stop"])

    # Then
    assert result.exit_code == 2
    assert "No such command 'stop'" in result.stderr


def test_an_error_of_kproxy_goes_to_standard_error_without_a_stack_trace() -> None:
    # When
    ended = python("-m", "kproxy", "config", "validate", "-X", "kproxy.listn=1")

    # Then
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr == "Error: unknown key 'kproxy.listn' (-X): did you mean kproxy.listen?\n"


@pytest.mark.parametrize(("no_color", "colour_of_click"), [("1", False), ("", None)])
def test_no_color_turns_the_colours_of_click_off(
    monkeypatch: pytest.MonkeyPatch, no_color: str, colour_of_click: object
) -> None:
    # Given
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr(sys, "argv", ["kproxy", "colour"])
    seen: list[bool | None] = []
    colour = click.Command("colour", callback=lambda: seen.append(click.get_current_context().color))
    monkeypatch.setattr(cli, "get_command", lambda _context, _name: colour)

    # When
    with pytest.raises(SystemExit):
        main()

    # Then
    assert seen == [colour_of_click]


def commands_below(group: click.Group) -> Iterator[click.Command]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield from commands_below(command) if isinstance(command, click.Group) else [command]


def test_a_short_option_stands_for_the_same_long_one_in_every_command() -> None:
    # When
    meanings: dict[str, set[str]] = {}
    for command in (*commands_below(cli), *commands_below(jobs)):
        for parameter in command.params:
            for short in parameter.opts:
                if len(short) == 2 and short.startswith("-"):
                    meanings.setdefault(short, set()).update(set(parameter.opts) - {short})

    # Then
    assert {short: names for short, names in meanings.items() if len(names) > 1} == {}
    assert meanings["-p"] == {"--partition"}


def test_a_partition_is_one_of_a_consumed_topic_in_every_command_with_an_example() -> None:
    # When
    helps = {
        parameter.help
        for command in (*commands_below(cli), *commands_below(jobs))
        for parameter in command.params
        if isinstance(parameter, click.Option) and "--partition" in parameter.opts
    }

    # Then
    number = "its number, counted from 0, as in -p 3."
    assert helps == {
        f"Of this partition of the consumed topic only: {number}",
        f"The partition of the consumed topic: {number}",
        f"Only this partition of consumed topics: {number}",
    }


WITHOUT_SPARK = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j", "pandas", "numpy", "pyarrow", "matplotlib"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
import importlib, pkgutil, kproxy
for module in pkgutil.walk_packages(kproxy.__path__, "kproxy."):
    if not module.name.endswith("__main__") and not module.name.startswith("kproxy.jobs"):
        importlib.import_module(module.name)
from kproxy.cli.main import COMMANDS
print(*(name for name, command in COMMANDS.items() if command.load()))
"""


def test_everything_but_the_jobs_can_be_used_without_what_the_extra_spark_brings() -> None:
    # When
    ended = python("-c", WITHOUT_SPARK)

    # Then
    assert (ended.stderr, ended.stdout.split()) == ("", list(NAMES))
