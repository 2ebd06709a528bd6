"""How kproxy's own connections prove to brokers who they are.

`credentials` are read anew for each login, `token_endpoint` gives tokens, and a `sasl_session` authenticates one
connection as long as it lives. What is said in an exchange is in `kproxy.security`.
"""
