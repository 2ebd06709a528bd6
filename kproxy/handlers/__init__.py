"""The served APIs: one module for each, between the pure rules below and the sockets above.

Handlers are coroutines that await the ports of `ports` and import no I/O. They take a decoded request
apart, ask `kproxy.share` what becomes of it, wait for durability or for data where the protocol does, and
put the answer together.

Where to begin: `share_groups` builds everything and is what the shell talks to; `registry` says which API
is whose. `share_fetch` and `share_acknowledge` stand on `share_session_requests` (who asks, under which
session epoch), `acknowledgements` (what became of delivered records), `fetch_partitions` (the
read-and-acquire loop) and `share_partitions` (the live share-partitions, which no handler keeps across an
await).
"""
