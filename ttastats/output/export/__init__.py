"""From the table back to files of other programs: rows as CSV or JSON lines, runs as logs."""
