"""Stubs for the names that a notebook's shell defines, for programs that run outside of one."""


class _MadeShell:
    """A shell whose magics do nothing."""

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


def made_shell(namespace):
    """Give a namespace `display`, which prints, and `get_ipython`, whose magics do nothing."""
    namespace.setdefault("display", print)
    namespace.setdefault("get_ipython", _MadeShell)


def made_shell_at_hand(original):
    """Stub for IPython's `get_ipython`, which knows no shell outside of one."""
    return lambda: original() or _MadeShell()
