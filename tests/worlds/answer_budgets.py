"""What the answer to a request may hold, as tests want it."""

from kproxy.handlers.request_context import UnlimitedAnswers


class NoRoomToWait(UnlimitedAnswers):
    """An `AnswerBudget` of a request that takes too much to be kept while it waits."""

    may_wait = False
