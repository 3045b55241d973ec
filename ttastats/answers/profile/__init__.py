"""What `profile` answers: where the time of a step goes, and how it changed."""
