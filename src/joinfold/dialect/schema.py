"""Types and schemas as text: ``location STRING, ts TIMESTAMP, celsius DOUBLE``."""

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from joinfold.dialect.tokens import TYPES, parse_type, span_of, tokenize
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


def data_type(node: exp.Expr) -> DataType:
    """The type of a tree that sqlglot parsed."""
    kind = node.this
    if node.args.get("collate"):
        raise UsageError(f"collations are not supported: '{node.sql(dialect='spark')}'", "leave out COLLATE.")
    if kind == exp.DType.DECIMAL:
        sizes = [int(part.name) for part in node.expressions if part.name.isdecimal()]
        if len(sizes) != len(node.expressions) or len(sizes) > 2:
            raise UsageError("DECIMAL takes a precision and a scale", "write it as DECIMAL(10, 2).")
        precision, scale = (*sizes, *(10, 0)[len(sizes) :])
        if not 0 <= scale <= precision <= 38 or precision == 0:
            raise UsageError(
                f"DECIMAL({precision}, {scale}) is not a valid type",
                "the precision is 1 to 38, and the scale is 0 to the precision.",
            )
        return decimal(precision, scale)
    if kind not in _NAMES:
        raise UsageError(f"unknown type '{node.sql(dialect='spark')}'", f"the types are {TYPES}.")
    return DataType(_NAMES[kind])


def read_schema(text: str) -> Schema:
    """Parses a schema such as ``name TYPE, name TYPE, …``."""
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
    fields: list[Field] = []
    for column in columns:
        if len(column) < 2:
            raise UsageError(f"'{text}' is not a schema", hint)
        name, type_ = column[0].text, parse_type(column[1:], text)
        if type_ is None:
            written = span_of(column[1:], text).words
            raise UsageError(f"unknown type '{written}' of column '{name}'", f"the types are {TYPES}.")
        if name in [field.name for field in fields]:
            raise UsageError(f"the schema '{text}' has two columns '{name}'", "give each column its own name.")
        fields.append(Field(name, data_type(type_)))
    return Schema(tuple(fields))
