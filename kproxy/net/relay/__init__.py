"""The relay: client connections, their upstream twins, the ports they come in by, and what they may hold.

`listeners` opens ports, `client_connection` and `upstream_twin` are the two ends of a connection, `answering` answers
what kproxy serves, `sweeper` looks after all of them.
"""
