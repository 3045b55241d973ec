"""What `compare` answers: rows, cells, notes, the verdict in a line, the gate."""
