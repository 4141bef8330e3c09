"""What is found out about streams and plans by looking: samples of rows, and the measured cost of a run."""
