"""The costs of a plan as one HTML page that needs no network and no script. It has a light and a dark style."""

from collections.abc import Iterable
from html import escape

from joinfold.explain.costs import alternatives_table, cost_tree_text, reason_text, statistics_table
from joinfold.explain.costs_chart import alternatives_svg
from joinfold.planner.planned_query import PlannedQuery

_STYLE = """
:root { color-scheme: light dark; --text: #1e293b; --quiet: #64748b; --page: #ffffff; --panel: #f1f5f9;
        --line: #cbd5e1; --warning: #b45309; --chosen: #ffedd5;
        --pack: #64748b; --shuffle: #a78bfa; --fold: #ea580c; --merge: #0d9488; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e2e8f0; --quiet: #94a3b8; --page: #0f172a; --panel: #1e293b;
          --line: #475569; --warning: #fbbf24; --chosen: #43260f;
          --pack: #94a3b8; --shuffle: #8b5cf6; --fold: #f97316; --merge: #2dd4bf; } }
body { margin: 2rem auto; max-width: 80rem; padding: 0 1.5rem; font: 15px/1.5 sans-serif;
       color: var(--text); background: var(--page); }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
pre { padding: 1rem; overflow-x: auto; background: var(--panel); border-radius: 6px;
      font: 13px/1.45 ui-monospace, monospace; }
table { border-collapse: collapse; } th, td { padding: .25rem .9rem .25rem .3rem; text-align: left;
        border-bottom: 1px solid var(--line); } th { color: var(--quiet); font-weight: normal; }
.amount { text-align: right; font-variant-numeric: tabular-nums; } .marked td { background: var(--chosen); }
.marked td:first-child { font-weight: bold; } .warning { border-left: 4px solid var(--warning); padding-left: .8rem; }
figure { margin: 1.5rem 0 0; overflow-x: auto; } svg text { fill: var(--text); } svg .quiet { fill: var(--quiet); }
svg .grid { stroke: var(--line); } svg .PACK { fill: var(--pack); } svg .shuffle { fill: var(--shuffle); }
svg .FOLD { fill: var(--fold); } svg .MERGE { fill: var(--merge); }
svg .cut { stroke: var(--page); stroke-width: 3; fill: none; }
"""


def cost_page(plan: PlannedQuery, sql: str, warnings: Iterable[str] = ()) -> str:
    """A page with the query, its warnings, why the plan was chosen, the other plans, and the tree."""
    title = escape(" ".join(sql.split()))
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        f'<head><meta charset="utf-8"><title>joinfold: {title}</title><style>{_STYLE}</style></head>',
        "<body>",
        "<h1>How joinfold runs this query</h1>",
        f"<pre>{escape(sql)}</pre>",
        *(f'<p class="warning">Warning: {escape(warning)}</p>' for warning in warnings),
    ]
    if plan.decision is not None:
        chosen = alternatives_table(plan.decision)
        parts += [f"<p>{escape(reason_text(plan.decision))}</p>", chosen.to_html()]
        parts += [f"<figure>{alternatives_svg(plan.decision)}</figure>"]
        parts += [statistics_table(plan, plan.decision).to_html()]
    parts += ["<h2>The stages, from the answer down to the streams</h2>", f"<pre>{escape(cost_tree_text(plan))}</pre>"]
    return "\n".join([*parts, "</body>", "</html>", ""])
