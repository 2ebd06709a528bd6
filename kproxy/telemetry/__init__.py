"""What kproxy tells its operator: metrics for Prometheus, and log lines. Imports no other package of kproxy.

`metrics.py` declares every metric in one table and counts in plain integers; `logs.py` writes events, each a
fixed name and keys, as JSON or as text. Nothing is re-exported here, so that who only logs does not load
prometheus_client.
"""
