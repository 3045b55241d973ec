"""What may logs be that nobody has described? Proposes blocks, and says how sure of what."""
