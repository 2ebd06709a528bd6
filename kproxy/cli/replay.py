"""`kproxy replay`: questions to the history of the state log, answered by Spark in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec

import click

from kproxy.cli.exit_codes import CommandFailed, ExitCode


@click.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
    options_metavar="",
)
@click.argument("arguments", nargs=-1, metavar="JOB [OPTIONS]", type=click.UNPROCESSED)
def replay(arguments: tuple[str, ...]) -> None:
    """Ask the history of every share group: Spark replays the state log.

    kproxy replay --help lists the jobs.
    """
    if find_spec("pyspark") is None:
        raise CommandFailed("kproxy replay needs PySpark: pip install 'kproxy[spark]'", ExitCode.USAGE)
    command = [sys.executable, "-m", "kproxy.jobs", *(arguments or ("--help",))]
    sys.exit(_status_of(command, environment(os.environ)))


def environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the jobs: Spark's workers take the interpreter that runs this, not `python3`."""
    return {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, **inherited}


def _status_of(command: list[str], child_environment: Mapping[str, str]) -> int:
    """Run a command to its end. Ctrl-C reaches it as well, from the terminal; how it takes that is its own affair."""
    with subprocess.Popen(command, env=child_environment) as child:  # noqa: S603 - our own module
        while True:
            try:
                status = child.wait()
            except KeyboardInterrupt:
                continue
            return status if status >= 0 else 128 - status
