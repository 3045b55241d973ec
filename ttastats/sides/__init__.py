"""Two sets of runs against each other: the question, the pairs, the decision.

It imports base, stats, table, outcomes and ingestion.
"""
