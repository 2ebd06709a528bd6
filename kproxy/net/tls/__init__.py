"""TLS: contexts for both sides, made of PEM files and made anew when these change, and what a failed handshake means.

`pem_files` reads and judges files, `contexts` makes `ssl` contexts of them, `renewal` keeps the newest good one,
`certificates` has what is told of them, `handshakes` the words for failures, and `peer_names` who a client is.
"""
