"""How answers are drawn: plots, the report page, and logs of other programs.

It imports answers and what answers imports.
"""
