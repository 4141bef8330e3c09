"""Live windows in memory: what they hold, how combinations are found in them, and the totals over these."""
