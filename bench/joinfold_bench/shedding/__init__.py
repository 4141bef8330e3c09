"""What SHED does: how often intervals hold the exact value, how much is held, and whether a query keeps up."""
