"""`kproxy config`: what the configuration is, where each value comes from, and whether it is valid."""

import click

from kproxy.cli.setting_options import with_settings
from kproxy.clients.tables import table_lines
from kproxy.settings import KEYS, LoadedSettings, property_line


@click.group()
def config() -> None:
    """Show or validate the configuration that kproxy run would use, given the same options."""


@config.command()
@click.option("--origin", "with_origin", is_flag=True, help="Show where each value comes from.")
@with_settings
def show(loaded: LoadedSettings, *, with_origin: bool) -> None:
    """Print every key with its value.

    Without --origin the output is a valid .properties file.
    """
    values = {name: key.text_in(loaded.settings) for name, key in KEYS.items()}
    if with_origin:
        rows = [(name, value or "-", loaded.origins[name]) for name, value in values.items()]
        click.echo("\n".join(table_lines(("KEY", "VALUE", "ORIGIN"), rows)))
        return
    for name, value in values.items():
        click.echo(property_line(name, value))


@config.command()
@with_settings
def validate(loaded: LoadedSettings) -> None:
    """Check that kproxy run could start with this configuration.

    Nothing is connected to; files of TLS are read. The exit code is 2 when something is wrong or missing.
    """
    settings = loaded.ready_to_run()

    from kproxy.application.tls_parts import check_tls
    from kproxy.errors import KproxyError, SettingsError
    from kproxy.net.deadlines import SystemWallClock

    try:
        check_tls(settings, SystemWallClock().now_ms)
    except KproxyError as unusable:
        raise SettingsError(str(unusable)) from unusable
    click.echo("The configuration is valid.", err=True)
