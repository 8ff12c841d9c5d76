"""Diagrams, put into their pages while the site is built.

Mermaid is drawn, so that no page loads a script to draw it. Drawings of `docs/assets` take the colours of the page that they are in.
"""

from __future__ import annotations

import re
from pathlib import Path

ASSETS = Path(__file__).resolve().parents[2] / "docs" / "assets"
DRAWING = re.compile(r"^!\[[^\]]*\]\(assets/(?P<name>[\w-]+\.svg)\)$", re.MULTILINE)
SMALLEST = 0.6
"""How small a drawing may become, of its own size; a wider one is scrolled."""

MERMAID = re.compile(r"^```mermaid\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def drawn(text: str) -> str:
    """The text with each diagram as a picture in SVG."""

    def picture(match: re.Match[str]) -> str:
        import mermaidx

        svg = mermaidx.render(match["code"]).svg()
        return f'<figure class="diagram" tabindex="0" aria-label="Diagram">{_alone(svg, match.start())}</figure>'

    def drawing(match: re.Match[str]) -> str:
        return _in_one_line((ASSETS / match["name"]).read_text(encoding="utf-8"))

    return DRAWING.sub(drawing, MERMAID.sub(picture, text))


def _alone(svg: str, number: int) -> str:
    """A picture that shares a page with others: with names of its own, and never so small that its words cannot be read."""
    width = re.findall(r'viewBox="\S+ \S+ ([\d.]+)', svg)[0]
    named = _in_one_line(svg).replace("my-svg", f"diagram-{number}")
    return named.replace('style="', f'style="min-width: {SMALLEST * float(width):.0f}px; ', 1)


def _in_one_line(svg: str) -> str:
    """A picture of which no line ends the block of HTML that it is in."""
    return re.sub(r"\s*\n\s*", " ", svg).strip()
