"""Durable share-partition state: what the state log says once it is folded.

`durable_state.DurableShareState` is the fold. `in_memory_state_log.InMemoryStateLog` keeps it for as long as
the process lives.
"""
