"""Build time only: makes `kproxy/wire/messages` from `schemas/`. Nothing at run time imports this package.

`schema_model` reads Kafka's JSON form and refuses what it does not understand, `emit_messages` writes the
text of the modules, and `python -m kproxy.schema_compiler [--check]` puts them in place or says which of them
are out of date.
"""
