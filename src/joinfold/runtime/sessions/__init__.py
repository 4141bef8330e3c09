"""The Spark session that queries run in: starting a local one, borrowing settings, asking its workers."""
