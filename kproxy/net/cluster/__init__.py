"""kproxy's own view of the backing cluster, and its own connections to it.

`broker_client` is one connection, `broker_connections` has them all, `metadata` knows brokers, topics and leaders.
"""
