"""Bytes to messages and back. Pure: knows nothing of proxies or share groups.

`kproxy.wire.codecs` is the only public way in: it decodes and encodes the classes of `kproxy.wire.messages`,
which are generated from `schemas/`. Below it stand two codecs of equal behaviour: the *construct tree* of a
message version (`message_struct`, built of the leaves in `primitives`), which is the schema at run time and
the reference, and straight-line Python that `codec_emitter` writes from that same tree on first use, for the
hot path.

What is not decoded is read in place: `frames` peeks at the head of a frame, `record_batches` at batch
headers. Everything that is wrong with received bytes is a `kproxy.errors.MalformedMessage`.
"""
