"""The results of all suites, as tables for people and as JSON for programs."""
