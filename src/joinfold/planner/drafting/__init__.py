"""Drafts a plan: one stage that joins all inputs, with the columns and sums that the query needs from each."""
