"""Recording for loops that belong to a framework: one module each, which alone imports it.

It imports base and recording.
"""
