"""Every socket, task and timer of kproxy, on one event loop.

| folder | what |
|---|---|
| `relay` | client connections and their upstream twins, the ports they come in by, answers to what kproxy serves |
| `cluster` | the backing cluster: kproxy's own connections to it, its brokers, topics, leaders and coordinators |
| `authentication` | how kproxy's own connections prove to brokers who they are |
| `reading` | records of topics for share groups, and what tells at once of new ones |
| `state_log` | the state log in the backing cluster: found, owned, loaded, written, looked after |

On top lies what all of them stand on: tasks and timers, dialing, waiting longer after each failure, counting.
"""
