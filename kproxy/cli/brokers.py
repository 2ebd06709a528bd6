"""`kproxy brokers`: the brokers of the backing cluster as a running kproxy sees them."""

import click

from kproxy.cli.admin_port import require_whole, with_admin_url
from kproxy.cli.output import Column, Output, with_output
from kproxy.cli.watch import with_watch
from kproxy.clients.admin_port import Item, answer_of, items_of
from kproxy.clients.diagnosis.spans import span_text


def _connected(broker: Item) -> str:
    if not broker["listed"]:
        # Older processes tell neither.
        word, age_ms = "down" if broker.get("awaited") else "gone", broker.get("unlistedMs")
        return word if age_ms is None else f"{word} for {span_text(age_ms)}"
    return "yes" if broker["connected"] else "no"


_COLUMNS = (
    Column("NODE", "nodeId"),
    Column("RACK", "rack"),
    Column("BROKER", "upstream"),
    Column("CLIENTS-USE", "advertised"),
    Column("CONNECTED", _connected),
    Column("#CLIENTS", "clientConnections"),
    Column("LAST-ERROR", "lastError"),
    Column("PROCESS", "process"),
    Column("CLIENTS-USE-TLS", "tlsAdvertised", is_wide=True),
    Column("#OWN", "ownConnections", is_wide=True),
    Column("ERROR-AGE-MS", "lastErrorAgeMs", is_wide=True),
)


@click.command(
    epilog="""Examples:

\b
  kproxy brokers
  kproxy brokers -o json | jq '.items[] | select(.connected | not)'

The exit code is 1 when not every process of the fleet could be asked; those that could are shown.
""",
)
@with_watch
@with_admin_url
@with_output
def brokers(admin_url: str, output: str, *, no_headers: bool) -> None:
    """Show the backing brokers as a running kproxy sees them, and as each other process of its fleet does.

    BROKER is where the cluster says that the broker is, CLIENTS-USE what clients are told instead. CONNECTED tells
    whether the process itself has a connection to it (no: it needed none so far, or LAST-ERROR says why), or for how
    long the cluster has not named it any more: it is down if partitions have replicas on it, otherwise it is gone;
    #CLIENTS counts connections of clients that came by the broker's port.
    """
    answer = answer_of(admin_url, "brokers")
    Output(output, not no_headers).show(answer, items_of(answer), _COLUMNS)
    require_whole(answer)
