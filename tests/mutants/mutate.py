"""Small faults in source text: a comparison that is off by one, a sum that becomes a difference, a branch that is lost.

A *mutant* is a place in a file and its replacement. Docstrings, annotations, messages and assertions are left alone, as
no test should depend on them.
"""

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A part of a file, by its offsets in bytes, and what stands there instead."""

    path: Path
    start: int
    end: int
    text: str
    line: int
    what: str

    @property
    def name(self) -> str:
        """The name by which an equivalent mutant is listed: the file, what changes, and a hash of the line."""
        line = self.path.read_text().splitlines()[self.line - 1].strip()
        column = self.start - len("\n".join(self.path.read_text().splitlines()[: self.line - 1]).encode())
        digest = hashlib.sha256(f"{line} {column}".encode()).hexdigest()[:8]
        return f"{self.path.name} {digest} {self.what}"

    def applied(self) -> str:
        """The text of the file with the fault."""
        content = self.path.read_bytes()
        return (content[: self.start] + self.text.encode() + content[self.end :]).decode()


def mutants_of(path: Path) -> Iterator[Mutant]:
    """All mutants of a file."""
    source = path.read_text()
    offsets = [0]
    for line in source.encode().splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    finder = _Finder(path, source.encode(), offsets)
    finder.visit(ast.parse(source))
    yield from finder.found


class _Finder(ast.NodeVisitor):
    def __init__(self, path: Path, source: bytes, offsets: list[int]) -> None:
        self.path = path
        self.source = source
        self.offsets = offsets
        self.found: list[Mutant] = []

    # --- what is left alone -----------------------------------------------------------------------------------------

    def visit_Assert(self, node: ast.Assert) -> None:
        """Assertions are about our own mistakes."""

    def visit_Raise(self, node: ast.Raise) -> None:
        """Messages are compared by golden files of their own."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_arguments(self, node: ast.arguments) -> None:
        for default in (*node.defaults, *node.kw_defaults):
            if default is not None:
                self.visit(default)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.visit(node.args)
        for statement in node.body:
            self.visit(statement)

    # --- what is changed --------------------------------------------------------------------------------------------

    def visit_Compare(self, node: ast.Compare) -> None:
        left = node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            self._between(left, right, *COMPARISONS[type(operator)])
            left = right
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in ARITHMETIC:
            self._between(node.left, node.right, *ARITHMETIC[type(node.op)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between(left, right, old, new)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.Invert):
            self._replace(node, self._text(node.operand), "without not")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._replace(node, str(not node.value), f"{node.value} to {not node.value}")
        elif isinstance(node.value, int):
            self._replace(node, str(node.value + 1), f"{node.value} to {node.value + 1}")

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in CALLS:
            self._replace(node.func, CALLS[node.func.id], f"{node.func.id} to {CALLS[node.func.id]}")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        if isinstance(node.value, ast.Call):
            self._replace(node, "pass", "without the call")
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        self._replace(node.test, f"not ({self._text(node.test)})", "if not")
        self.generic_visit(node)

    # --- places -----------------------------------------------------------------------------------------------------

    def _place(self, line: int, column: int) -> int:
        return self.offsets[line - 1] + column

    def _span(self, node: ast.AST) -> tuple[int, int]:
        assert isinstance(node, ast.expr | ast.stmt) and node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._place(node.lineno, node.col_offset), self._place(node.end_lineno, node.end_col_offset)

    def _text(self, node: ast.AST) -> str:
        start, end = self._span(node)
        return self.source[start:end].decode()

    def _replace(self, node: ast.expr | ast.stmt, text: str, what: str) -> None:
        start, end = self._span(node)
        self.found.append(Mutant(self.path, start, end, text, node.lineno, what))

    def _between(self, left: ast.expr, right: ast.expr, old: str, new: str) -> None:
        """Replaces the operator between two operands."""
        start, end = self._span(left)[1], self._span(right)[0]
        gap = self.source[start:end].decode()
        if gap.count(old) == 1 and "#" not in gap:
            at = start + len(gap[: gap.index(old)].encode())
            self.found.append(Mutant(self.path, at, at + len(old), new, left.lineno, f"{old} to {new}"))
