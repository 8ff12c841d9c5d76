"""Loads the magic into a shell of IPython, and takes it out again."""

from __future__ import annotations

from typing import Any

_LOADED = "_dnnfix_magic"


def load(shell: Any) -> None:
    """Make `%dnnfix` and `%%dnnfix` known to a shell. Loading it twice is loading it once."""
    try:
        import jinja2  # noqa: F401 - what reports are drawn with
    except ImportError:
        from IPython.core.error import UsageError

        raise UsageError(
            "dnnfix needs Jinja2 in notebooks. Install it with `%pip install 'dnnfix[notebook]'`."
        ) from None
    from dnnfix.notebook import options
    from dnnfix.notebook.magic import Magic

    if hasattr(shell, _LOADED):
        return
    magic = Magic(shell)

    def dnnfix(line: str, cell: str | None = None) -> None:
        magic.run(line, cell)

    dnnfix.__doc__ = options.parser().format_help()
    shell.register_magic_function(dnnfix, magic_kind="line_cell")
    shell.input_transformers_cleanup.append(magic.transform)
    shell.events.register("pre_run_cell", magic.begins)
    shell.events.register("post_run_cell", magic.ended)
    setattr(shell, _LOADED, magic)


def unload(shell: Any) -> None:
    """Take the magic out of a shell again."""
    magic = getattr(shell, _LOADED, None)
    if magic is None:
        return
    shell.input_transformers_cleanup.remove(magic.transform)
    shell.events.unregister("pre_run_cell", magic.begins)
    shell.events.unregister("post_run_cell", magic.ended)
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("dnnfix", None)
    delattr(shell, _LOADED)
