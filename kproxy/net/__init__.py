"""Every socket, task and timer of kproxy, on one event loop.

Three parts that share `tasks` and `dialing`. The relay: `listeners` opens ports, `client_connection` and
`upstream_twin` are the two ends of a connection, `calls` answers what kproxy serves, `sweeper` looks after all of them.
kproxy's own view of the backing cluster: `broker_client` is one connection, `cluster_metadata` knows brokers, topics
and leaders, `partition_reader` reads records, `availability` and `tail` tell of new ones, `deadlines` is the timer.
The state log: `state_log_service` finds or makes its topics, `state_slots` has its slots, `state_slot` is the life of
one (`slot_claim` claims and loads it, `partition_writer` writes it), `state_upkeep` prunes it, `durable_state_log` is
what the handlers see of it.
"""
