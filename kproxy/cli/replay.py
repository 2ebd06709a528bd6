"""`kproxy replay`: questions to the history of the state log, answered by Spark; the process goes on as theirs."""

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import NoReturn

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
        raise CommandFailed(
            "kproxy replay needs PySpark, and this kproxy was installed without its extra `spark`: "
            "in a checkout of kproxy run pip install '.[spark]', or name the extra behind the wheel: "
            "pip install 'PATH/TO/kproxy_share_groups-….whl[spark]'",
            ExitCode.USAGE,
        )
    become([sys.executable, "-m", "kproxy.jobs", *(arguments or ("--help",))], environment(os.environ))


def environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the jobs: Spark's workers take the interpreter that runs this, not `python3`."""
    return {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, **inherited}


def become(command: Sequence[str], command_environment: Mapping[str, str]) -> NoReturn:
    """Go on as `command`, in this very process: signals reach it, and its exit code is that of `kproxy`."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(command[0], list(command), dict(command_environment))  # noqa: S606 - our own module
