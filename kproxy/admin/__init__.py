"""Looking into a running kproxy over HTTP: health, metrics, status, share groups, records in flight, the state log.

`views.py`, `share_views.py` and `state_log_views.py` turn what the domain says into the JSON that people and scripts
read; they are pure. `readiness.py` holds the named checks of `/readyz`, `inspection.py` the endpoints that list what
the process holds, `json_stream.py` writes long answers without holding up the event loop. `server.py` serves all of
it on `kproxy.admin.listener`, on the proxy's own event loop.
"""
