"""KIP-932 as arithmetic: what a share group may do, with no clock, no socket and no message in sight.

Where to begin:

- `share_partition.SharePartition` is the in-flight state of one share-partition: acquire, acknowledge,
  release, expire. Below it, `offset_ranges` holds runs of equal state, `acquisition` and `redelivery` decide
  which offsets a fetch takes, `acknowledgement` says what is made of them.
- `share_session.ShareSessionCache` counts session epochs and knows which partitions a member fetches.
- `group_coordinator.GroupCoordinator` is the membership side: `share_group` and `assignor` do its work,
  `rounds.portions` says how much of it at a time.
- `state_batches` is what must become durable, and how it is laid over what already is.

Time comes in as `now_ms`; work to be done goes out as a value. Nothing here is awaited, so every call is
atomic.
"""
