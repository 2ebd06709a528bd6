"""How the demo can fail: each message says what happened; `story` adds where the logs are."""


class DemoFailed(RuntimeError):
    """The demo cannot go on. Handled in `__main__`, which tells the person and exits with status 1."""


class PerformerFailed(DemoFailed):
    """A process of the demo ended that should not have, or not so."""


class KproxyFailed(DemoFailed):
    """kproxy did not start, did not become ready, or ended."""


class AnalystFailed(DemoFailed):
    """Spark did not start, or did not answer."""


class WrongSetting(DemoFailed):
    """An environment variable of the demo has a value that makes no sense."""
