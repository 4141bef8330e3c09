"""joinfold's plans beside each other, in process and on Spark."""
