"""The message classes, one module per message.

Generated from `schemas/` by `make generate`; not edited by hand. A class is mutable and cheap to make, and
every field has its default from the schema. A uuid is 16 bytes. `unknown_tagged_fields` holds what a newer
peer sent under tags that the schema does not know, as pairs of tag and content by rising tag; it is written
back as it came.
"""
