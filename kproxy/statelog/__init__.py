"""Durable share-partition state and share groups: bytes of both logs, their folds, and the queues that write them.

Where to begin: `fold` turns the records of the state log into `durable_state.DurableShareState`;
`share_coordinator` decides what an operation writes, and `state_queue` puts many of them into one append.
`group_log_fold` and `group_queue` do the same for share groups. All of it is pure: the shell reads and appends.
"""
