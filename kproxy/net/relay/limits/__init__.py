"""How many connections there may be, how fast one may ask, and who of all goes on first: counted, without sockets."""
