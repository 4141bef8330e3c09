"""Statistics of streams from samples of rows, and the measured cost of a plan beside its estimate."""
