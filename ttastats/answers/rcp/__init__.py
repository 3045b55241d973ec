"""What `rcp` answers: convergence against reference runs."""
