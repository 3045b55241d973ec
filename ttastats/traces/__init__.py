"""Profiles: where the time of a training step goes, as recorded here or in the traces of others.

It imports base and table.
"""
