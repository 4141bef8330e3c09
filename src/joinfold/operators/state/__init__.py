"""What a bucket stores, how it is written in few chunks, and how a bucket is opened from it: without Spark."""
