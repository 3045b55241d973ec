"""What `record` answers: the rules of a contest and the runs a record rests on."""
