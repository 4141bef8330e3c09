"""A small tree of lines of text."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tree:
    """A line of text with trees below it."""

    text: str
    children: tuple["Tree", ...] = ()

    def __str__(self) -> str:
        return "\n".join([self.text, *self._lines()])

    def _lines(self) -> list[str]:
        lines = []
        for child in self.children:
            last = child is self.children[-1]
            lines.append(("└─ " if last else "├─ ") + child.text)
            lines += [("   " if last else "│  ") + line for line in child._lines()]
        return lines
