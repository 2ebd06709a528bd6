"""A walk through a section of the runbook: its commands are run as they stand there, and what they said is kept."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kproxy.settings import KEYS
from tests.real_kafka.paths import PROJECT_ROOT
from tests.troubles.trouble import Told

KEPT: Final = PROJECT_ROOT / "build" / "troubles"
TIMEOUT_SECONDS: Final = 90.0
WATCHED_SECONDS: Final = 5.0
"""How long somebody looks at what goes on until Ctrl-C."""
OF_KPROXY: Final = "KPROXY_"


@dataclass(frozen=True, slots=True)
class Step:
    """A command of a walk, and what came of it."""

    line: str
    """As the runbook has it."""
    words: Sequence[str]
    """As it was run."""
    exit_code: int
    output: str

    def misses(self, told: Told, names: Mapping[str, str]) -> list[str]:
        """Return what it should have said, and did not."""
        missing = [] if self.exit_code == told.exit_code else [f"{self.line}: ended with {self.exit_code}"]
        wanted = [_said(word, names) for word in told.words]
        return missing + [f"{self.line}: does not say {word!r}" for word in wanted if word not in self.output]


@dataclass(slots=True)
class Walk:
    """Runs the commands of one section where a kproxy with `settings` runs, whose admin port is at `admin_url`."""

    admin_url: str
    settings: Mapping[str, str | int]
    names: Mapping[str, str]
    steps: list[Step] = field(default_factory=list)

    def take(self, line: str) -> Step:
        """Run a command of the runbook, its placeholders filled in."""
        words = filled(line, self.names)
        step = Step(line, words, *self._run(words[1:], lasts="--watch" in words))
        self.steps.append(step)
        return step

    def keep(self, name: str, alert: Mapping[str, Any]) -> Path:
        """Write down what was told and said; the file."""
        KEPT.mkdir(parents=True, exist_ok=True)
        file = KEPT / f"{name}.txt"
        file.write_text("\n".join(self._lines(name, alert)), encoding="utf-8")
        return file

    def _lines(self, name: str, alert: Mapping[str, Any]) -> Iterable[str]:
        yield f"{name}: {alert['annotations']['summary']}"
        yield alert["annotations"]["description"]
        yield " ".join(f"{label}={value}" for label, value in sorted(alert["labels"].items()))
        for step in self.steps:
            yield f"\n$ {shlex.join(step.words)}"
            yield step.output.rstrip()
            yield f"[exit code {step.exit_code}]"
        yield ""

    def _run(self, arguments: Sequence[str], *, lasts: bool) -> tuple[int, str]:
        command = [sys.executable, "-m", "kproxy", *arguments]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self._environment()
        ) as process:
            try:
                output, _ = process.communicate(timeout=WATCHED_SECONDS if lasts else TIMEOUT_SECONDS)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT if lasts else signal.SIGKILL)
                output, _ = process.communicate()
        return process.returncode, output

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(OF_KPROXY)}
        named = {KEYS[key].environment_name: str(value) for key, value in self.settings.items()}
        return {**kept, **named, "KPROXY_ADMIN_URL": self.admin_url}


def _said(word: str, names: Mapping[str, str]) -> str:
    for name, value in names.items():
        word = word.replace(f"{{{name}}}", value)
    return word


def filled(line: str, names: Mapping[str, str]) -> list[str]:
    """Return the words of a command of the runbook, with what `names` says in the place of placeholders."""
    return [names.get(word, word) for word in shlex.split(line)]
