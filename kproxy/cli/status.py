"""`kproxy status`: what a running kproxy says of itself on its admin port."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

import click

from kproxy.cli.exit_codes import CommandFailed, ExitCode
from kproxy.cli.tables import table_lines

_TIMEOUT_S: Final = 5.0


@click.command()
@click.option(
    "--admin-url", metavar="URL", default="http://127.0.0.1:9644", show_default=True, help="The admin port."
)
@click.option(
    "-o",
    "--output",
    "output",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Format.",
)
def status(admin_url: str, output: str) -> None:
    """Show what a running kproxy is and does.

    Answers "is it ready, which ports has it opened, are share groups on?"
    """
    answer = _answer_of(f"{_checked(admin_url)}/api/v1/status")
    if output == "json":
        click.echo(json.dumps(answer, indent=2))
        return
    items = answer.get("items")
    if not isinstance(items, list):
        raise CommandFailed(f"{admin_url} did not answer as a kproxy does: no items", ExitCode.FAILED)
    for item in items:
        click.echo("\n".join(_item_lines(item)))


def _checked(admin_url: str) -> str:
    parts = urlsplit(admin_url)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise click.BadParameter(f"{admin_url!r}: expected http://HOST:PORT", param_hint="--admin-url")
    return admin_url.rstrip("/")


def _answer_of(url: str) -> Mapping[str, object]:
    from urllib.error import HTTPError
    from urllib.request import ProxyHandler, build_opener

    # The admin port is next door: a proxy named in the environment has no business between.
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(url, timeout=_TIMEOUT_S) as response:
            answer = json.load(response)
    except HTTPError as error:
        error.close()
        raise CommandFailed(f"{url} answered {error.code} {error.reason}", ExitCode.FAILED) from error
    except OSError as error:
        reason = getattr(error, "reason", error)
        hint = "is kproxy running there, with kproxy.admin.listener on?"
        raise CommandFailed(f"cannot reach {url}: {reason}; {hint}", ExitCode.CANNOT_CONNECT) from error
    except ValueError as error:
        raise CommandFailed(
            f"{url} did not answer with JSON: is it kproxy's admin port?", ExitCode.FAILED
        ) from error
    if not isinstance(answer, dict):
        raise CommandFailed(f"{url} did not answer as a kproxy does: no object", ExitCode.FAILED)
    return answer


def _item_lines(item: Mapping[str, object]) -> Iterator[str]:
    facts = list(_facts(item, ""))
    width = max((len(name) for name, _ in facts), default=0)
    yield from (f"{name.ljust(width)}  {value}" for name, value in facts)
    for name, value in item.items():
        if isinstance(value, list) and value:
            yield ""
            yield f"{name}:"
            yield from _member_lines(value)


def _facts(item: Mapping[str, object], prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in item.items():
        if isinstance(value, dict):
            yield from _facts(value, f"{prefix}{name}.")
        elif not isinstance(value, list):
            yield f"{prefix}{name}", _cell(value)


def _member_lines(members: Sequence[Mapping[str, object]]) -> Iterator[str]:
    header = list(members[0])
    yield from table_lines(header, [[_cell(member.get(name)) for name in header] for member in members])


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value in {None, ""} else str(value)
