"""The served APIs, between the pure rules below and the sockets above.

Handlers are coroutines that await the ports of `ports` and import no I/O. They take a decoded request
apart, ask `kproxy.share` what becomes of it, wait for durability or for data where the protocol does, and
put the answer together.

| folder | what |
|---|---|
| `apis` | one module for each API, and what several of them share |
| `fetching` | the read-and-acquire loop of a ShareFetch |
| `live` | share-partitions in memory: loaded, led, acknowledged, released, written; none is kept across an await |
| `groups` | group writes and configurations, held heartbeats, topics that are watched and deleted |

Where to begin: `share_groups` builds everything and is what the shell talks to; `registry` says which API
is whose.
"""
