"""The state log in the backing cluster: found or made, owned, loaded, written and looked after.

`service` finds or makes its topics, `slots` has its slots, `slot` is the life of one (`claim` claims and loads it,
`partition_writer` writes it), `upkeep` prunes it, `durable_state_log` is what the handlers see of it.
"""
