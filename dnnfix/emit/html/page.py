"""Pages of one file that need nothing beside them: the style, the scripts and what may run in them.

The parts are Jinja templates with autoescape: programs, paths and messages are strangers' work. What is written out also loses
its control characters, and a content security policy lets no script run but ours, and nothing be loaded.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dnnfix.emit.view import printable
from dnnfix.errors import ConfigError

if TYPE_CHECKING:
    from jinja2 import Environment

PARTS = Path(__file__).with_name("parts")

_TICKED = re.compile(r"`([^`\n]{1,200})`")
"""Code in a sentence, as messages have it."""

PAGES = {"jinja2": "Jinja2", "markupsafe": "MarkupSafe", "pygments": "Pygments"}
"""What pages are made with: packages by the names of their modules."""

NEEDED = {**PAGES, "vl_convert": "vl-convert-python"}
"""What reports are made with."""


def require(packages: Mapping[str, str] = NEEDED) -> None:
    """Raise `ConfigError` where what pages are made with is not installed."""
    missing = [package for module, package in packages.items() if find_spec(module) is None]
    if missing:
        raise ConfigError(f"a page needs {', '.join(missing)}, which is not installed: pip install 'dnnfix[html]'")


def render(name: str, scripts: tuple[str, ...] = (), *, evaluates: bool = False, **context: Any) -> str:
    """A page from the template of that name. `scripts` are run in order behind that of every page.

    `evaluates` says that one of them makes functions of texts, as Vega does of the expressions in its charts.
    """
    texts = tuple(map(_inline, (part("page.js"), *scripts)))
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in texts)
    allowed = f"{hashes} 'unsafe-eval'" if evaluates else hashes
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}; base-uri 'none'; form-action 'none'"
    page = _environment().get_template(name).render(policy=policy, style=part("style.css"), scripts=texts, **context)
    return page.encode("utf-8", "replace").decode("utf-8")


def part(name: str) -> str:
    """The text of a part that is no template."""
    return (PARTS / name).read_text(encoding="utf-8")


def _inline(script: str) -> str:
    """A script that can stand in a page: nothing in it ends the element it is in."""
    return re.sub(r"</(?=script)|<!--", lambda found: found[0].replace("<", "\\x3c"), script, flags=re.IGNORECASE)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup, escape

    def shown(value: object) -> object:
        return value if isinstance(value, Markup) or not isinstance(value, str) else printable(value)

    environment = Environment(
        loader=FileSystemLoader(PARTS),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=shown,
    )

    def ticked(value: str) -> Markup:
        return Markup(_TICKED.sub(r"<code>\1</code>", str(escape(printable(value)))))

    environment.filters["raw_text"] = Markup  # of our own style and scripts alone
    environment.filters["ticked"] = ticked
    return environment
