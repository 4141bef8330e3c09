"""Whatever is shown of a query and its plan: trees, drawings of windows, tables of costs, and a page of them."""
