"""What every answer is made of, before it is text: rows for programs, typed cells for people.

It imports base, stats, table and outcomes.
"""
