"""Queries that are watched while they run: `joinfold run` and `joinfold demo`."""
