"""The command line: `kproxy run`, `status`, `groups`, `sessions`, `in-flight`, `log`, `replay`, `config`, `completion`.

`status`, `groups`, `sessions` and `in-flight` ask a running kproxy on its admin port; `groups` with `-b` asks any
cluster with share groups over Kafka's protocol, and is the one that changes something; `log` reads the state log in
the backing cluster itself; `replay` starts the jobs that replay it as a process of their own. How a kproxy and a
cluster are asked, and what a line of `log dump` looks like, is in `kproxy.clients`, which the jobs use as well.

Data goes to standard output, everything else to standard error; `exit_codes.py` says how a command ends.
`kproxy --help` answers in under 150 ms: `main.py` knows the commands by name, and what is slow to import (the
event loop, HTTP, Prometheus, Kafka clients) is imported inside the commands that need it.
"""
