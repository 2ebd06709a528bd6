"""`kproxy replay` as it is typed, in this process, and what it said."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from kproxy.jobs import command_line


def replay(job: str, *arguments: str | Path) -> Result:
    """Run a job to its end."""
    return CliRunner().invoke(command_line.jobs, [job, *map(str, arguments)])


def summary_of(ended: Result) -> Mapping[str, Any]:
    """Return the closing summary of a job."""
    summary = json.loads(ended.stderr.splitlines()[-1])
    assert isinstance(summary, dict)
    return summary


def answer_of(ended: Result) -> list[dict[str, Any]]:
    """Return what a job with `-o json` found."""
    answer = json.loads(ended.stdout)
    assert isinstance(answer, list)
    return answer
