"""`--from-log`: the state log instead of a running kproxy, for commands that otherwise ask its admin port."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, Final, ParamSpec, TypeVar

import click
from click.core import ParameterSource

from kproxy.cli.backing_cluster import BackingCluster
from kproxy.cli.cluster_access import COMMAND_CONFIG, security_of
from kproxy.cli.setting_options import CONFIG_FILE, FLAGS, OVERRIDE, loaded_settings
from kproxy.settings import Assignment

P = ParamSpec("P")
R = TypeVar("R")

NOT_DURABLE: Final = (
    "From the state log, which has what is durable: acquisitions are not, so that somebody may hold "
    "what is Available."
)
"""Said beside what was read from the log."""

_BOOTSTRAP: Final = FLAGS[0]


def with_log_source(command: Callable[Concatenate[BackingCluster | None, P], R]) -> Callable[P, R]:
    """Give `command` `--from-log` and the options that say where the backing cluster is.

    It is called with that cluster first; with None when the admin port is to be asked. Raises UsageError for options
    of the one with the other.
    """

    @wraps(command)
    def with_options(*arguments: P.args, **options: P.kwargs) -> R:
        from_log, server = options.pop("from_log"), options.pop(_BOOTSTRAP.parameter)
        file, overrides = options.pop("config_file"), options.pop("overrides")
        command_config = options.pop("command_config")
        if not from_log:
            if server or file or overrides or command_config:
                raise click.UsageError("-b, --config, -X and --command-config go with --from-log")
            return command(None, *arguments, **options)
        if click.get_current_context().get_parameter_source("admin_url") is ParameterSource.COMMANDLINE:
            raise click.UsageError("give --admin-url or --from-log, not both: each is another answer")
        said = [Assignment(_BOOTSTRAP.key, str(server), _BOOTSTRAP.names[-1])] if server else []
        settings = loaded_settings(file, overrides, said).ready_to_run()
        cluster = BackingCluster(settings, security_of(settings, command_config))
        return command(cluster, *arguments, **options)

    flag = click.option(
        "--from-log",
        is_flag=True,
        help="Ask no kproxy: read the state log in the backing cluster, which -b names.",
    )
    servers = click.option(*_BOOTSTRAP.names, metavar=_BOOTSTRAP.metavar, help=_BOOTSTRAP.help)
    return flag(servers(CONFIG_FILE(OVERRIDE(COMMAND_CONFIG(with_options)))))
