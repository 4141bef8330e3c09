"""joinfold's own plans beside each other: in process, and on Spark."""
