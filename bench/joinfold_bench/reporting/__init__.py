"""What suites found out, for a person and for a machine: one report for all of them."""
