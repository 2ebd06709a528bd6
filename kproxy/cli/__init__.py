"""The command line: `kproxy run`, `config`, `status`, `version`, `completion`.

Data goes to standard output, everything else to standard error; `exit_codes.py` says how a command ends.
`kproxy --help` answers in under 150 ms: `main.py` knows the commands by name, and what is slow to import (the
event loop, HTTP, Prometheus, Kafka clients) is imported inside the commands that need it.
"""
