"""`kproxy version`, and what `kproxy --version` prints."""

import platform

import click

from kproxy import __version__
from kproxy.cli.commit import own_commit


def version_line() -> str:
    """Return name and version, the commit as far as it is known, and the Python that runs it."""
    commit = own_commit()
    return (
        f"kproxy {__version__} ({f'commit {commit}, ' if commit else ''}Python {platform.python_version()})"
    )


@click.command()
def version() -> None:
    """Print the version of kproxy, its commit, and the version of the Python that runs it."""
    click.echo(version_line())
