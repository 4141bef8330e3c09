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
        for number, child in enumerate(self.children, 1):
            last = number == len(self.children)
            lines.append(("└─ " if last else "├─ ") + child.text)
            lines += [("   " if last else "│  ") + line for line in child._lines()]
        return lines
