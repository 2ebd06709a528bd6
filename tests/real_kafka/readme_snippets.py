"""The blocks of code in README.md and the pages that it leads to: what they are, and what runs each."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tests.real_kafka.paths import PROJECT_ROOT

README: Final = "README.md"
CONFIGURING: Final = "deploy/CONFIGURING.md"
GUIDES: Final = (
    README,
    "deploy/DEMO.md",
    CONFIGURING,
    "deploy/SECURING.md",
    "deploy/OBSERVING.md",
    "deploy/ADMINISTERING.md",
    "deploy/REPLAYING.md",
    "kproxy/TESTED.md",
    "kproxy/MEASUREMENTS.md",
    "kproxy/COMPARED.md",
    "kproxy/LIMITS.md",
)
"""README.md, and what it leads to that is written for the same readers."""

SHELL: Final = "sh"
PYTHON: Final = "python"
TEXT: Final = "text"
LANGUAGES: Final = frozenset({SHELL, PYTHON, TEXT})
"""What a block may say it is: commands, one program, or nothing to run."""

_HERE: Final = "tests/kafka/test_readme_snippets.py"
_WHEEL: Final = "tests/packaging/test_wheel.py"
RUN_BY: Final[Mapping[str, str]] = {
    "make demo": ".ci/run",
    "make test": ".ci/run",
    "pip install '.": f"{_WHEEL}::test_a_checkout_is_installed_as_the_readme_says",
    "pip install .": f"{_WHEEL}::test_a_checkout_is_installed_as_the_readme_says",
    "pip install 'dist/": f"{_WHEEL}::test_a_wheel_is_installed_as_the_readme_says",
    "kproxy run ": f"{_HERE}::test_kproxy_run_is_ready_to_serve_share_groups",
    "kproxy replay ": f"{_HERE}::test_a_replay_job_answers",
    "kproxy ": f"{_HERE}::test_a_command_that_looks_into_kproxy_answers",
    "kafka-configs.sh ": f"{_HERE}::test_kafkas_own_tool_configures_the_group",
}
"""How commands begin, and what runs all that begin so; of several the first one."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A block of code as it stands between its fences, and the word behind the opening one."""

    language: str
    text: str


def snippets_of(document: str) -> Sequence[Snippet]:
    """Every fenced block of a document, in order."""
    found = re.findall(r"^```([^\n]*)\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)
    return [Snippet(language, text) for language, text in found]


def commands_of(document: str) -> Sequence[str]:
    """Every command of a document's shell blocks, in order; one over several lines is one, as a shell reads it."""
    blocks = [snippet.text for snippet in snippets_of(document) if snippet.language == SHELL]
    return [line for block in blocks for line in block.replace("\\\n", "").splitlines() if line.strip()]


def text_of(document: str) -> str:
    """The text of one of `GUIDES`."""
    return (PROJECT_ROOT / document).read_text(encoding="utf-8")


def guides() -> str:
    """The text of all `GUIDES`, in order."""
    return "\n".join(map(text_of, GUIDES))


def programs_of(document: str) -> Sequence[str]:
    """The Python programs of a document, in order."""
    return [snippet.text for snippet in snippets_of(document) if snippet.language == PYTHON]


def guide_commands() -> Sequence[str]:
    """Every command of `GUIDES`, in order; one that stands there several times comes once, as it stands there first."""
    found: dict[str, str] = {}
    for command in commands_of(guides()):
        found.setdefault(without_comment(command), command)
    return list(found.values())


def readme_commands(beginning: str) -> Sequence[str]:
    """The commands of `GUIDES` that this entry of `RUN_BY` is about, in order; there is one at least."""
    found = [command for command in guide_commands() if beginning_of(command) == beginning]
    assert found, f"no shell block of {', '.join(GUIDES)} has a command that begins with {beginning!r}"
    return found


def without_comment(command: str) -> str:
    """The command alone."""
    return re.sub(r"\s+#.*", "", command)


def beginning_of(command: str) -> str | None:
    """The entry of `RUN_BY` that a command falls under; None where nothing runs it."""
    return next((beginning for beginning in RUN_BY if command.startswith(beginning)), None)
