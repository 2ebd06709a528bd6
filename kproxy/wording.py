"""Counts in the words of a message. Imports nothing."""


def counted(count: int, noun: str, form: str = "") -> str:
    """Return a count with its noun: `1 broker`, `0 brokers`, `3 share sessions`.

    `noun` is a singular whose plural has an `s` more. `form` is a format specification for the number: `,` groups
    its digits.
    """
    return f"{count:{form}} {noun}" if count == 1 else f"{count:{form}} {noun}s"
