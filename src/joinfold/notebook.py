"""What a notebook shows of joinfold's objects: pieces of HTML without scripts, readable on light and dark pages.

Jupyter and its like ask an object for its `_repr_html_`. A fragment takes its colours from the page around it: text
inherits the page's colour, and lines and shades are half transparent. Everything that is not made here is escaped.
"""

from collections.abc import Iterable, Mapping
from html import escape

_STYLE = """
.joinfold { max-width: 70rem; } .joinfold p, .joinfold h4 { margin: .3rem 0; }
.joinfold h2 { font-size: 1em; margin: .8rem 0 .2rem; }
div.joinfold pre { margin: .3rem 0; padding: .6rem .8rem; overflow-x: auto; color: inherit; line-height: 1.35;
  background: rgba(128, 128, 128, .12); border-radius: 4px; white-space: pre;
  font-family: ui-monospace, monospace; font-size: .9em; }
.joinfold table { border-collapse: collapse; margin: .3rem 0; color: inherit; }
.joinfold table th, .joinfold table td { padding: .15rem .9rem .15rem .2rem; text-align: left !important;
  color: inherit; background: none; border: 0; border-bottom: 1px solid rgba(128, 128, 128, .35);
  font-variant-numeric: tabular-nums; }
.joinfold table th { font-weight: normal; opacity: .7; }
.joinfold table .amount { text-align: right !important; }
.joinfold table .marked td { background: rgba(234, 88, 12, .18); }
.joinfold .warning { border-left: 4px solid #d97706; padding-left: .6rem; }
"""


def fragment(*parts: str) -> str:
    """A piece of a notebook, made of pieces of HTML."""
    return f'<div class="joinfold"><style>{_STYLE}</style>{"".join(parts)}</div>'


def heading(text: str) -> str:
    """A small heading."""
    return f"<h4>{escape(text)}</h4>"


def lines(text: str) -> str:
    """Lines of text, as they are."""
    return f"<pre>{escape(text)}</pre>"


def warning(text: str) -> str:
    """A paragraph that warns."""
    return f'<p class="warning">{escape(text)}</p>'


def facts(known: Mapping[str, object]) -> str:
    """A table with a name and a value in each row, without those that are None."""
    rows = (
        f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
        for name, value in known.items()
        if value is not None
    )
    return f"<table>{''.join(rows)}</table>"


class Lines(str):
    """A text of several lines, which a notebook and Python's prompt show as lines."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """The lines as HTML, for a notebook."""
        return fragment(lines(str(self)))


def paragraphs(texts: Iterable[str]) -> str:
    """Paragraphs of text."""
    return "".join(f"<p>{escape(text)}</p>" for text in texts)
