"""kproxy: Kafka share groups (KIP-932) for clusters that lack them.

Start with ARCHITECTURE.md beside this file: it has the package table, the ladder of imports and the flows.
"""

__version__ = "0.1.0"
