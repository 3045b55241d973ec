"""One small file per output format; each turns a report into text."""
