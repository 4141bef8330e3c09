"""Types and schemas as text: ``location STRING, ts TIMESTAMP, celsius DOUBLE``."""

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token

from joinfold.dialect.tokens import tokenize
from joinfold.errors import UsageError
from joinfold.types import DataType, Field, Schema, decimal

_NAMES = {
    exp.DType.BOOLEAN: "BOOLEAN",
    exp.DType.TINYINT: "TINYINT",
    exp.DType.SMALLINT: "SMALLINT",
    exp.DType.INT: "INT",
    exp.DType.BIGINT: "BIGINT",
    exp.DType.FLOAT: "FLOAT",
    exp.DType.DOUBLE: "DOUBLE",
    exp.DType.TEXT: "STRING",
    exp.DType.VARCHAR: "STRING",
    exp.DType.BINARY: "BINARY",
    exp.DType.DATE: "DATE",
    exp.DType.TIMESTAMP: "TIMESTAMP",
    exp.DType.TIMESTAMPTZ: "TIMESTAMP",
    exp.DType.TIMESTAMPLTZ: "TIMESTAMP",
    exp.DType.TIMESTAMPNTZ: "TIMESTAMP_NTZ",
}
_KNOWN = ", ".join(dict.fromkeys(_NAMES.values())) + ", DECIMAL(p, s)"


def data_type(node: exp.Expr) -> DataType:
    """The type that sqlglot read."""
    kind = node.this
    if kind == exp.DType.DECIMAL:
        sizes = [int(part.name) for part in node.expressions]
        precision, scale = (*sizes, *(10, 0)[len(sizes) :])
        if not 0 <= scale <= precision <= 38 or precision == 0:
            raise UsageError(f"DECIMAL({precision}, {scale}) does not exist", "at most 38 digits, scale within them.")
        return decimal(precision, scale)
    if kind not in _NAMES:
        raise UsageError(f"unknown type '{node.sql(dialect='spark')}'", f"the types are {_KNOWN}.")
    return DataType(_NAMES[kind])


def read_schema(text: str) -> Schema:
    """A schema from ``name TYPE, name TYPE, …``."""
    hint = "write it as 'location STRING, ts TIMESTAMP, celsius DOUBLE'."
    depth = 0
    columns: list[list[Token]] = []
    words: list[Token] = []
    for token in [*tokenize(text), None]:
        depth += 0 if token is None else (token.text in "(<") - (token.text in ")>")
        if token is None or (depth == 0 and token.text == ","):
            columns.append(words)
            words = []
        else:
            words.append(token)
    fields = []
    for column in columns:
        if len(column) < 2:
            raise UsageError(f"'{text}' is not a schema", hint)
        name, start, end = column[0].text, column[1].start, column[-1].end + 1
        try:
            built = exp.DataType.build(text[start:end], dialect="spark")
        except (ParseError, TokenError, ValueError) as error:
            raise UsageError(
                f"unknown type '{text[start:end]}' of column '{name}'", f"the types are {_KNOWN}."
            ) from error
        fields.append(Field(name, data_type(built)))
    return Schema(tuple(fields))
