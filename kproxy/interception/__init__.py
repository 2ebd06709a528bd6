"""What becomes of each frame on a client connection. Pure: bytes in, bytes and decisions out.

Start with `routing` (a table: what happens to each API), then `client_session` (one client connection and its
upstream twin as a value without sockets), `request_decisions` (what becomes of requests that are held whole), then
`rewrites` (one module per response that names brokers).
"""
