"""How a training loop records itself, and the logs it writes.

It imports base.
"""
