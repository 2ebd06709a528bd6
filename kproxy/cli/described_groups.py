"""Several groups of a running kproxy described one after the other, as one answer."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import click

from kproxy.cli.exit_codes import CommandFailed, ExitCode
from kproxy.clients.admin_port import Item, answer_of, items_of
from kproxy.clients.failures import ClientFailed, NotThere
from kproxy.wording import counted

PATIENCE_S: Final = 15.0
"""For so long brokers are asked about one group after the other; one takes three seconds when they do not answer."""


@dataclass(frozen=True, slots=True)
class DescribedGroups:
    """The groups that are there as items of one answer of the admin port, and what there is to complain about."""

    answer: Mapping[str, Any]
    missing: Sequence[NotThere] = ()
    without_lag_count: int = 0

    def complain(self) -> None:
        """Say whose logs were not asked about, and fail if groups are missing that were asked for."""
        if self.without_lag_count:
            groups = counted(self.without_lag_count, "group")
            click.echo(
                f"{groups} without LAG: asking the brokers about the others took {PATIENCE_S:g} s; "
                "give fewer with -g, or see kproxy groups list",
                err=True,
            )
        if self.missing:
            raise CommandFailed("\n  ".join(map(str, self.missing)), ExitCode.NOT_FOUND)


def described_groups(
    admin_url: str,
    group_ids: Sequence[str] | None,
    *,
    has_lag: bool,
    now_s: Callable[[], float] = time.monotonic,
) -> DescribedGroups:
    """Ask about each of `group_ids`, about all groups for None. A group that ended since they were listed is left out.

    Of a group of whose owner nothing can be heard the answer says so, and tells of the others.

    Raises:
        ClientFailed: the admin port does not answer, or refuses, or tells of no group; NotThere, when there is none of
            `group_ids`.
    """
    are_all = group_ids is None
    head, wanted = _listed(admin_url) if group_ids is None else ({}, group_ids)
    doubt = head.get("unavailable")
    patience_ends_s = now_s() + PATIENCE_S
    items: list[Item] = []
    missing: list[NotThere] = []
    unheard: list[ClientFailed] = []
    without_lag_count = 0
    for group_id in wanted:
        is_asking = has_lag and now_s() < patience_ends_s
        try:
            head = answer_of(admin_url, "groups", group_id, query={"lag": "true" if is_asking else "false"})
        except NotThere as gone:
            missing.append(gone)
            continue
        except ClientFailed as failed:
            if failed.exit_code is not ExitCode.FAILED:
                raise
            unheard.append(failed)
            continue
        items += items_of(head)
        doubt = doubt or head.get("unavailable")
        without_lag_count += has_lag and not is_asking
    if unheard and not items:
        raise unheard[0]
    if missing and not items and not are_all:
        raise NotThere("\n  ".join(map(str, missing)))
    doubt = doubt or "; ".join(map(str, unheard))
    answer = {**head, **({"unavailable": doubt} if doubt else {}), "items": items}
    return DescribedGroups(answer, [] if are_all else missing, without_lag_count)


def _listed(admin_url: str) -> tuple[Mapping[str, Any], Sequence[str]]:
    """Return the answer and the ids of all groups."""
    answer = answer_of(admin_url, "groups", query={"lag": "false"})
    return {**answer, "kind": "ShareGroup"}, [item["groupId"] for item in items_of(answer)]
