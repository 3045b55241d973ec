"""What a command answers, before it is text: rows for programs, typed cells for people."""
