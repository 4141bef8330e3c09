"""``joinfold explain``: what a query means, how it runs, and what that costs."""

import json
from pathlib import Path
from typing import Annotated

import typer

from joinfold.cli.arguments import PARAM_HELP, PLAN_HELP, assignments, parameters, query_text
from joinfold.cli.printing import ProgressBar, print_error, print_line, write_text
from joinfold.errors import UsageError
from joinfold.live.inputs import refuse_schemas, register
from joinfold.planner.forcing import Plan
from joinfold.query import STAGES
from joinfold.session import Session


def explain(
    query: Annotated[str, typer.Argument(help="A file with the query, '-' for standard input, or the query itself.")],
    stream: Annotated[
        list[str] | None,
        typer.Option(
            "--stream",
            help="NAME=SCHEMA, such as 'A=location STRING, ts TIMESTAMP', or NAME=PATH, a Parquet file or folder with "
            "the columns. Costs are estimated from its rows. Repeatable.",
        ),
    ] = None,
    table: Annotated[list[str] | None, typer.Option("--table", help="The same for a relation. Repeatable.")] = None,
    time: Annotated[
        list[str] | None,
        typer.Option(
            "--time",
            help="NAME=COLUMN: a stream's event time; by default 'ts' or its only TIMESTAMP.",
        ),
    ] = None,
    stage: Annotated[
        str | None,
        typer.Option(
            "--stage",
            autocompletion=lambda: list(STAGES),
            help="What to show: logical (default), what the query means; windows, when it answers and over which rows; "
            "physical, how it runs; cost, what that costs, and the other plans.",
        ),
    ] = None,
    windows: Annotated[
        bool, typer.Option("--windows", help="Draw windows, sub-windows and instants. The same as --stage windows.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write a page with the costs and the other plans to this file.")
    ] = None,
    analyze: Annotated[
        bool,
        typer.Option(
            "--analyze", help="Run the query on Parquet files, without Spark, and show measured beside estimated costs."
        ),
    ] = False,
    param: Annotated[list[str] | None, typer.Option("--param", help=PARAM_HELP)] = None,
    plan: Annotated[str | None, typer.Option("--plan", help=PLAN_HELP)] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print canonical SQL, schema and tree, or measured costs, as JSON.")
    ] = False,
) -> None:
    """Show what a query means, how it runs, and what that costs."""
    if windows and stage is not None:
        raise UsageError("--windows is --stage windows", "give one of them.")
    if (stage is not None or windows) + (html is not None) + analyze > 1:
        raise UsageError("--stage, --html and --analyze show different things", "give one of them.")
    if html is not None and as_json:
        raise UsageError("--html writes a page and --json prints JSON", "give one of them.")
    stage = "windows" if windows else stage or ("logical" if html is None and not analyze else "cost")
    session, streams, tables = Session(), assignments(stream, "--stream"), assignments(table, "--table")
    if analyze:
        refuse_schemas((*streams.items(), *tables.items()))
    register(session, streams, tables, assignments(time, "--time"), with_rows=stage == "cost")
    bound = session.sql(query_text(query), None if plan is None else Plan.parse(plan), **parameters(param))
    warnings = [*bound.warnings, *(bound.plan_warnings if stage == "cost" else ())]
    if analyze:
        names = {input_.source.name for input_ in bound.logical.streams}
        with ProgressBar("running the query", sum(session.inputs[name].rows().num_rows for name in names)) as advance:
            analysis = bound.analyze(progress=advance)
        shown, facts = str(analysis), {"sql": bound.to_sql(), "warnings": warnings, **analysis.to_dict()}
    elif html is not None:
        write_text(html, bound.explain(format="html"))
        shown, facts = str(html), {}
    else:
        shown = bound.explain(stage, warn=False)
        columns = [{"name": field.name, "type": str(field.type)} for field in bound.schema]
        facts = {"sql": bound.to_sql(), "schema": columns, "warnings": warnings, "tree": shown}
    for warning in warnings:
        print_error(f"Warning: {warning}")
    print_line(json.dumps(facts, indent=2) if as_json else shown)
