"""`kproxy version`."""

import platform

import click

from kproxy import __version__


@click.command()
def version() -> None:
    """Print the version of kproxy and of the Python that runs it."""
    click.echo(f"kproxy {__version__} (Python {platform.python_version()})")
