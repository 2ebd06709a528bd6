"""Looking into a running kproxy over HTTP: health, metrics, status.

`views.py` turns what the domain says into the JSON that people and scripts read; it is pure. `readiness.py`
holds the named checks of `/readyz`. `server.py` serves both on `kproxy.admin.listener`, on the proxy's own
event loop.
"""
