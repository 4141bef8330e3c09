"""Shows a query and its plan: trees, drawings of windows, tables of costs, and an HTML page with all of them."""
