"""Reading the tokens of a query one after another, and the errors where one is not as expected."""

from sqlglot.tokenizer_core import Token, TokenType

from joinfold.dialect.refusals import NO_SUBQUERY
from joinfold.dialect.tokens import span_of
from joinfold.errors import QueryError, Span, keyword_hint

TRAILING = ("EMIT", "SNAPSHOT", "CHANGES", "SYNC", "SHED", "OPTION")
"""The clauses after HAVING, which may come in any order."""

CLAUSES = ("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", *TRAILING)

REFUSED = {
    "DISTINCT": ("DISTINCT is not supported", "GROUP BY the columns instead: a group is one row."),
    "ORDER BY": (
        "ORDER BY is not supported",
        "sort the result in Spark: the rows of an answer have no order.",
    ),
    "LIMIT": ("LIMIT is not supported", "limit the result in Spark: the rows of an answer have no order."),
    **dict.fromkeys(
        ("JOIN", "INNER"),
        ("JOIN belongs to FROM", "write FROM a [window] JOIN b [window] ON a.key = b.key, and then WHERE."),
    ),
    "CROSS": ("cross joins are not supported", "list the inputs with commas and connect them in WHERE."),
    **dict.fromkeys(
        ("LEFT", "RIGHT", "FULL", "OUTER", "NATURAL", "SEMI", "ANTI"),
        (
            "outer, semi and natural joins are not supported",
            "only combinations that match are joined: write JOIN … ON, without the other word.",
        ),
    ),
    "UNION": (
        "UNION is not supported",
        "run two queries, or union the streams in Spark before registering them.",
    ),
    "QUALIFY": ("QUALIFY is not supported", "filter groups with HAVING."),
}


class TokenReader:
    """One pass over the tokens of a query; ``at`` is the next token to read."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.at = 0

    def here(self) -> Token:
        """The next token; at the end of the query, the last token."""
        return self.tokens[min(self.at, len(self.tokens) - 1)]

    def ended(self) -> bool:
        """Whether all tokens have been read."""
        return self.at >= len(self.tokens)

    def word(self) -> str:
        """The next token in upper case; empty at the end of the query and for quoted text."""
        if self.ended() or self.here().token_type in (TokenType.STRING, TokenType.IDENTIFIER):
            return ""
        return " ".join(self.here().text.upper().split())

    def next(self) -> Token:
        """Reads the next token."""
        token = self.here()
        self.at += 1
        return token

    def accept(self, word: str) -> bool:
        """Reads the word if it is next, and tells whether it was."""
        if self.word() != word:
            return False
        self.at += 1
        return True

    def expect(self, word: str, where: str, hint: str | None = None, others: tuple[str, ...] = ()) -> None:
        """Reads the word, or raises an error that names it and ``others``, which the caller has tried already."""
        if not self.accept(word):
            if self.word() in REFUSED:
                self.refuse()
            words = (word, *others)
            expected = " or ".join(part if part.isalpha() else repr(part) for part in words)
            raise self.error(f"expected {expected} {where}", keyword_hint(self.word(), words, hint))

    def one_of(self, words: tuple[str, ...], missing: str, unknown: str, hint: str) -> str:
        """Reads one of the words. Errors say what is ``missing`` at the end of the query, or what is ``unknown``."""
        if self.ended():
            raise self.error(missing, hint)
        if self.word() not in words:
            raise self.error(f"{unknown} '{self.here().text}'", keyword_hint(self.word(), words, hint))
        return self.next().text.upper()

    def error(self, message: str, hint: str | None = None) -> QueryError:
        """An error at the next token, or after the last one."""
        if self.ended():
            end = self.tokens[-1].end + 1
            return QueryError(f"{message}, but the query ends", Span(self.text, end, end + 1), hint)
        return QueryError(message, span_of([self.here()], self.text), hint)

    def since(self, start: int) -> Span:
        """The span from a token to the one that was read last."""
        return span_of(self.tokens[start : self.at], self.text)

    def refuse(self) -> None:
        """Raises the error for the next word, a keyword of SQL that joinfold does not support."""
        message, hint = REFUSED[self.word()]
        raise self.error(message, hint)

    def name(self, what: str) -> str:
        """A plain or quoted name; errors call it ``what``."""
        token = self.here()
        quoted = token.token_type == TokenType.IDENTIFIER
        if self.ended() or self.word() in CLAUSES or not (quoted or token.text.isidentifier()):
            if self.word() == "(" and what == "a stream or relation":
                raise self.error("subqueries are not supported", NO_SUBQUERY)
            raise self.error(f"expected {what}" + ("" if self.ended() else f", not '{token.text}'"))
        return self.next().text
