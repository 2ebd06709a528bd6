"""The lines of `kproxy why`: a screen for one group, a paragraph each for several."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from kproxy.cli.ages import age_text
from kproxy.clients.admin_port import Item
from kproxy.clients.diagnosis.attempts import attempt_text
from kproxy.clients.diagnosis.findings import Finding
from kproxy.clients.diagnosis.looks import FleetDiagnosis, GroupDiagnosis
from kproxy.clients.diagnosis.members import hung_line, silence_lines
from kproxy.clients.diagnosis.places import unwritable_text
from kproxy.clients.tables import cell_text
from kproxy.wording import counted

MOST_SILENT: Final = 5
"""Members of one group that are said to be dead, one line each."""


def group_lines(found: GroupDiagnosis) -> Iterator[str]:
    """Yield all that is said of one group."""
    yield _summary(found.group)
    if unwritable := unwritable_text(found.slot):
        yield cell_text(unwritable)
    if not found.findings:
        yield _nothing_waits(found.answer, "every record that was produced is done with")
    yield from _silent_lines(found, MOST_SILENT)
    yield from _hung_lines(found, MOST_SILENT)
    for each in found.findings:
        yield ""
        yield _head(each.share_partition)
        yield f"  {cell_text(each.verdict)}"
        width = max(map(len, each.facts)) + 1
        for name, text in each.facts.items():
            yield f"  {name + ':':<{width}}  {cell_text(text)}"
    if found.left_out:
        yield ""
        yield f"{counted(found.left_out, 'more share-partition')} with something to do: --all shows them"


def paragraphs(found: FleetDiagnosis) -> Iterator[str]:
    """Yield a few lines of each group."""
    if found.held_up:
        yield cell_text(found.held_up)
        yield ""
    if not found.groups:
        yield _nothing_waits(found.answer, "every group is done with all that was produced")
    for number, each in enumerate(found.groups):
        if number:
            yield ""
        yield from _paragraph(each)
    if found.left_out:
        yield ""
        more = counted(found.left_out, "more group")
        yield f"{more} with something to do: --all shows more, kproxy groups list all of them"


def _nothing_waits(answer: Mapping[str, object], reason: str) -> str:
    unheard = answer.get("unavailable")
    if unheard:
        return cell_text(f"nothing waits in what was told, which is not all: {unheard}")
    return f"nothing waits: {reason}"


def _paragraph(found: GroupDiagnosis) -> Iterator[str]:
    yield _summary(found.group)
    if unwritable := unwritable_text(found.slot):
        yield f"  {cell_text(unwritable)}"
    yield from (f"  {line}" for line in _silent_lines(found, 1))
    yield from (f"  {line}" for line in _hung_lines(found, 1))
    for each in found.findings:
        yield f"  {_head(each.share_partition)}"
        yield from (f"    {cell_text(text)}" for text in _gist(each))
    group_id = cell_text(found.group["groupId"])
    more = f" and of {counted(found.left_out, 'more share-partition')}" if found.left_out else ""
    yield f"  all of it{more}: kproxy why -g {group_id}"


def _gist(found: Finding) -> Sequence[str]:
    first = found.situation.first
    if first is None:
        at = ""
    elif first["state"] == "Acquired":
        at = f", at {attempt_text(first)}"
    else:
        at = f"; {attempt_text(first)}"
    said = [f"{found.verdict}{at}", f"next: {found.facts['next']}"]
    if window := found.facts.get("window"):
        said.append(f"window: {window}")
    return said


def _silent_lines(found: GroupDiagnosis, most: int) -> Iterator[str]:
    silent = found.silent
    for member in islice(silent, most):
        yield from map(cell_text, silence_lines(member, now_ms=found.now_ms, group=found.group["members"]))
    if len(silent) > most:
        group_id = cell_text(found.group["groupId"])
        yield (
            f"{counted(len(silent) - most, 'more member')} not heard for long: "
            f"kproxy groups describe {group_id} --members"
        )


def _hung_lines(found: GroupDiagnosis, most: int) -> Iterator[str]:
    hung = found.hung
    yield from (cell_text(hung_line(each)) for each in hung[:most])
    if len(hung) > most:
        yield f"{counted(len(hung) - most, 'more member')} that seem to hang"


def _summary(group: Item) -> str:
    lags = [each["lag"] for each in group["sharePartitions"]]
    lag = "not known" if None in lags else f"{sum(lags)}"
    members = counted(len(group["members"]), "member")
    return f"{cell_text(group['groupId'])} is {group['state']}: {members}, lag {lag}"


def _head(share_partition: Item) -> str:
    name = cell_text(share_partition["topicName"] or share_partition["topicId"])
    age = age_text(share_partition["oldestAgeMs"], is_exact=share_partition["oldestAgeExact"])
    written = "" if age is None else f": its oldest unfinished record was written {age} ago"
    return f"{name}, partition {share_partition['partition']}{written}"
