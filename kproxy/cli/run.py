"""`kproxy run`: the proxy itself."""

import gc
import sys

import click

from kproxy.cli.commit import own_commit
from kproxy.cli.setting_options import with_settings
from kproxy.net.relay.early_ports import EarlyPorts, client_addresses
from kproxy.settings import LoadedSettings


@click.command(
    epilog="""Examples:

\b
  kproxy run -b broker1:9092,broker2:9092,broker3:9092
  kproxy run -c kproxy.toml -X kproxy.log.level=debug
  KPROXY_BOOTSTRAP_SERVERS=kafka-1:9092,kafka-2:9092 kproxy run

Every key can also stand in the file or in the environment: KPROXY_ and the key in capitals, dots as
underscores, without a leading kproxy. (kproxy.listen is KPROXY_LISTEN). kproxy config show lists them.
"""
)
@with_settings
def run(loaded: LoadedSettings) -> None:
    """Run the proxy in front of a Kafka cluster, until SIGTERM or Ctrl-C drains it.

    Clients use the address of --listen as their bootstrap.servers. Each broker of the cluster gets a port
    of its own beside it.
    """
    settings = loaded.ready_to_run()
    early_ports = EarlyPorts(client_addresses(settings))

    # Imports make nothing that a collection could free while they last, and afterwards a full one would walk over all
    # that they made: some 40 ms in which nobody is served.
    gc.disable()
    from kproxy.application import run_proxy

    gc.freeze()
    gc.enable()
    sys.exit(run_proxy(loaded, early_ports, commit=own_commit()))
