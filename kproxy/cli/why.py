"""`kproxy why`: what holds a share group up, in one screen."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import click

from kproxy.cli.admin_port import require_whole, with_admin_url
from kproxy.cli.ages import age_text
from kproxy.cli.exit_codes import CommandFailed, ExitCode
from kproxy.cli.known_names import group_names, topic_names
from kproxy.cli.output import with_form
from kproxy.cli.watch import with_watch
from kproxy.clients.admin_port import Item, answer_of, items_of
from kproxy.clients.diagnosis import Finding, finding, most_pressing
from kproxy.clients.tables import cell_text
from kproxy.wording import counted

SHOWN: Final = 5
"""Share-partitions, unless all are asked for."""
_TIMEOUT_S: Final = 10.0


@click.command(
    epilog="""Examples:

\b
  kproxy why -g orders-workers
  kproxy why -g orders-workers -t orders -p 3
  kproxy why -g orders-workers --watch

The exit code is 3 when there is no such group, topic or partition.
"""
)
@click.option(
    "-g", "--group", required=True, metavar="GROUP", shell_complete=group_names, help="The share group."
)
@click.option(
    "-t",
    "--topic",
    metavar="TOPIC",
    shell_complete=topic_names,
    help="Of this topic only: its name, or its id.",
)
@click.option("-p", "--partition", type=click.IntRange(0, 2**31 - 1), help="Of these partitions only.")
@click.option("--all", "are_all", is_flag=True, help=f"Every share-partition; otherwise the {SHOWN} worst.")
@with_watch
@with_admin_url
@with_form("text", "json", default="text")
def why(
    group: str, topic: str | None, partition: int | None, admin_url: str, output: str, *, are_all: bool
) -> None:
    """Say why a share group does not move: which record blocks it, who holds that since when, and what comes next.

    The share-partition whose first unfinished record has waited longest comes first. What is not done with can be held
    by a member (Acquired) until its lock ends, or wait for a member that fetches (Available); all behind it may be done
    with and still counts until it is.
    """
    answer = answer_of(admin_url, "groups", group, query={"lag": "true"}, timeout_s=_TIMEOUT_S)
    (described,) = items_of(answer)
    chosen = [each for each in described["sharePartitions"] if _is_chosen(each, topic, partition)]
    if not chosen and (topic, partition) != (None, None):
        raise CommandFailed(_none_there(described, topic, partition), ExitCode.NOT_FOUND)
    pressing = most_pressing(chosen)
    shown = pressing if are_all else pressing[:SHOWN]
    sessions = items_of(answer_of(admin_url, "sessions", query={"group": group}))
    findings = [finding(described, each, _runs_of(admin_url, group, each), sessions) for each in shown]
    if output == "json":
        click.echo(json.dumps(_json_of(answer, described, findings), indent=2))
    else:
        for line in _lines(described, findings, left_out=len(pressing) - len(shown)):
            click.echo(line)
    require_whole(answer)


def _is_chosen(share_partition: Item, topic: str | None, partition: int | None) -> bool:
    return topic in {None, share_partition["topicName"], share_partition["topicId"]} and partition in {
        None,
        share_partition["partition"],
    }


def _none_there(described: Item, topic: str | None, partition: int | None) -> str:
    there = sorted({each["topicName"] or each["topicId"] for each in described["sharePartitions"]})
    wanted = " ".join(
        filter(None, (topic and f"topic {topic!r}", None if partition is None else f"partition {partition}"))
    )
    names = ", ".join(there) if there else "none so far"
    return f"share group {described['groupId']!r} has nothing of {wanted}; it consumes {names}"


def _runs_of(admin_url: str, group: str, share_partition: Item) -> Sequence[Item]:
    if not share_partition["live"]:
        return []
    query = {
        "group": group,
        "topic": share_partition["topicId"],
        "partition": share_partition["partition"],
    }
    return items_of(answer_of(admin_url, "in-flight", query=query))


def _json_of(answer: Mapping[str, Any], described: Item, findings: Sequence[Finding]) -> dict[str, object]:
    items = [
        {
            "groupId": described["groupId"],
            "topicId": each.share_partition["topicId"],
            "topicName": each.share_partition["topicName"],
            "partition": each.share_partition["partition"],
            "verdict": each.verdict,
            **{_camel_case(name): text for name, text in each.facts.items()},
        }
        for each in findings
    ]
    return {**answer, "kind": "ShareGroupFindings", "items": items}


def _camel_case(name: str) -> str:
    first, *others = name.split()
    return first + "".join(word.capitalize() for word in others)


def _lines(described: Item, findings: Sequence[Finding], *, left_out: int) -> Iterator[str]:
    lags = [each["lag"] for each in described["sharePartitions"]]
    lag = "not known" if None in lags else f"{sum(lags)}"
    yield (
        f"{cell_text(described['groupId'])} is {described['state']}: "
        f"{counted(len(described['members']), 'member')}, lag {lag}"
    )
    if not findings:
        yield "nothing waits: every record that was produced is done with"
    for each in findings:
        yield ""
        yield _head(each.share_partition)
        yield f"  {cell_text(each.verdict)}"
        width = max(map(len, each.facts)) + 1
        for name, text in each.facts.items():
            yield f"  {name + ':':<{width}}  {cell_text(text)}"
    if left_out:
        yield ""
        yield f"{counted(left_out, 'more share-partition')} with something to do: --all shows them"


def _head(share_partition: Item) -> str:
    name = cell_text(share_partition["topicName"] or share_partition["topicId"])
    age = age_text(share_partition["oldestAgeMs"], is_exact=share_partition["oldestAgeExact"])
    waits = "" if age is None else f": its oldest unfinished record has waited {age}"
    return f"{name}, partition {share_partition['partition']}{waits}"
