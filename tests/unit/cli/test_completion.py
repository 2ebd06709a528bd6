import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from kproxy.cli.completion import COMPLETION_VARIABLE
from kproxy.cli.main import cli


@pytest.mark.parametrize(
    ("shell", "mark"), [("bash", "complete -o"), ("zsh", "#compdef kproxy"), ("fish", "complete --no-files")]
)
def test_a_completion_script_is_printed_for_each_shell(shell: str, mark: str) -> None:
    # When
    result = CliRunner().invoke(cli, ["completion", shell])

    # Then
    assert result.exit_code == 0
    assert mark in result.output
    assert COMPLETION_VARIABLE in result.output


def test_another_shell_is_wrong_usage() -> None:
    assert CliRunner().invoke(cli, ["completion", "tcsh"]).exit_code == 2


def test_the_script_gets_its_answers_from_kproxy() -> None:
    # Given
    asked = {COMPLETION_VARIABLE: "bash_complete", "COMP_WORDS": "kproxy co", "COMP_CWORD": "1"}

    # When
    ended = subprocess.run(
        [sys.executable, "-m", "kproxy"],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=True,
    )

    # Then
    assert ended.stdout.split() == ["plain,config", "plain,completion"]
