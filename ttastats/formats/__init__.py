"""What a parser must offer, and the descriptions of logs in a `ttastats.toml`.

It imports base.
"""
