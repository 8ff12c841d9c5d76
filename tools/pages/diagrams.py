"""Diagrams in Mermaid, drawn while the site is built, so that no page loads a script to draw them."""

from __future__ import annotations

import re

MERMAID = re.compile(r"^```mermaid\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def drawn(text: str) -> str:
    """The text with each diagram as a picture in SVG."""

    def picture(match: re.Match[str]) -> str:
        import mermaidx

        svg = mermaidx.render(match["code"]).svg()
        return f'<figure class="diagram">{_alone(svg, match.start())}</figure>'

    return MERMAID.sub(picture, text)


def _alone(svg: str, number: int) -> str:
    """A picture that shares a page with others: names of its own, and no line that ends the block of HTML."""
    return re.sub(r"\s*\n\s*", " ", svg).replace("my-svg", f"diagram-{number}")
