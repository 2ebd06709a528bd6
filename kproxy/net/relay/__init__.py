"""The relay: client connections, their upstream twins, the ports they come in by, and what they may hold.

`listeners` opens ports, `client_connection` and `upstream_twin` are the two ends of a connection, `answering` answers
what kproxy serves, `listings` lists of all groups, `sweeper` looks after all of them. `back_pressure` says who is read,
`left_requests` what is served still when a client is gone; `buffer_budget`, `answer_budget`, `connection_memory` and
`answer_memory` say what may be held.
"""
